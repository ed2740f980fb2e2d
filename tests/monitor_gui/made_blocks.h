#pragma once

#include <QByteArray>
#include <QJsonArray>
#include <QJsonObject>
#include <QString>
#include <cstring>
#include <iterator>
#include <vector>

namespace weir::monitor {

/// Makes a block as in docs/reference/run-log.md, for tests: written from the document,
/// not from the engine's own code.
class MadeBlock {
 public:
  MadeBlock(const QString& kind, int rank) : head_{{"kind", kind}, {"rank", rank}} {}

  MadeBlock& Note(const QString& key, const QJsonValue& value) {
    head_[key] = value;
    return *this;
  }
  template <typename T>
  MadeBlock& Column(const QString& name, const QString& type, const std::vector<T>& values) {
    head_["rows"] = static_cast<qint64>(values.size());
    QJsonArray columns = head_["columns"].toArray();
    columns.append(QJsonArray{name, type});
    head_["columns"] = columns;
    body_.append(reinterpret_cast<const char*>(values.data()),
                 std::ssize(values) * static_cast<qsizetype>(sizeof(T)));
    Pad(body_, '\0');
    return *this;
  }
  MadeBlock& Text(const QByteArray& text) {
    head_["text_bytes"] = text.size();
    body_ = text;
    Pad(body_, '\0');
    return *this;
  }
  QByteArray Bytes() const;

 private:
  static void Pad(QByteArray& bytes, char with) {
    while (bytes.size() % 8 != 0) bytes.append(with);
  }
  QJsonObject head_;
  QByteArray body_;
};

/// Makes the first block of a rank; its clock is the wall clock. `job`: the
/// rank's job id; empty: not told.
QByteArray RunBlock(int rank, int size, const QString& job = {});
/// Names gradients 0, 1, ... of so many entries each.
QByteArray NamesBlock(int rank, const QStringList& gradients, qint64 elements);

/// A step that starts at 100 ms times its number and takes so long, in milliseconds.
struct MadeStep {
  qint64 step = 0;
  qint64 duration_ms = 100;
  qint64 before_backprop_ms = 0;
  qint64 exposed_communication_ms = 0;
  qint64 exposed_compression_ms = 0;
  quint64 payload_bytes = 1;
  quint64 dense_bytes = 1;
  float target_density = 1.0f;
};
QByteArray StepsBlock(int rank, const std::vector<MadeStep>& steps);

struct MadeGradient {
  qint64 step = 0;
  quint32 gradient = 0;
  qint64 latency_ms = 1;
  quint64 payload_bytes = 8;
  float density = 1.0f;
  float residual_ratio = -1.0f;
  float threshold = 0.5f;
};
QByteArray GradientsBlock(int rank, const std::vector<MadeGradient>& gradients);

struct MadeStage {
  qint64 start_us = 0;
  qint64 end_us = 0;
  quint8 stage = 4;  ///< Exchange.
  quint32 bucket = 0;
  quint64 bytes_in = 0;
  qint64 step = 0;
};
QByteArray StagesBlock(int rank, const std::vector<MadeStage>& stages);

struct MadeStall {
  QString name;
  double waited_seconds = 0;
  QJsonArray missing{};
  int process_set = 0;
};
/// Makes the last block of a rank. `failure`: empty if it ended in good order.
QByteArray EndBlock(int rank, qint64 time_ms, const QString& failure = {});

/// A plan of two buckets, "conv" and "bias", of the group "model".
struct MadePlan {
  qint64 from_step = 0;
  bool settled = true;
  QString by = "measurement";
  QString what = "dgc";
  QString why{};
  QStringList forms{"dgc", "dgc"};
  QJsonArray considered{};
  QJsonValue network{};
};
QByteArray PlanBlock(int rank, const MadePlan& plan);
/// An entry of a plan's "considered"; a measured time of 0 stands for none.
QJsonObject Considered(const QString& what, double measured_seconds, bool chosen = false);

/// Makes rank 0's block of stalls at a time.
QByteArray StallsBlock(qint64 time_ms, const std::vector<MadeStall>& stalls, int left_out = 0);

}  // namespace weir::monitor
