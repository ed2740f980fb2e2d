#include "tests/monitor_gui/made_blocks.h"

#include <zlib.h>

#include <QJsonDocument>

namespace weir::monitor {
namespace {

quint32 Crc(const QByteArray& bytes) {
  return static_cast<quint32>(
      crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

void Append(QByteArray& bytes, quint32 value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename Rows, typename Take>
auto Taken(const Rows& rows, Take take) {
  std::vector<decltype(take(rows.front()))> values;
  for (const auto& row : rows) values.push_back(take(row));
  return values;
}

constexpr qint64 kMs = 1'000'000;
constexpr qint64 kUs = 1'000;

}  // namespace

QByteArray MadeBlock::Bytes() const {
  QByteArray head = QJsonDocument(head_).toJson(QJsonDocument::Compact);
  Pad(head, ' ');
  QByteArray bytes("WLOG");
  Append(bytes, 1);
  Append(bytes, static_cast<quint32>(head.size()));
  Append(bytes, static_cast<quint32>(body_.size()));
  Append(bytes, Crc(body_));
  Append(bytes, Crc(bytes + head));
  bytes.append(8, '\0');
  return bytes + head + body_;
}

QByteArray RunBlock(int rank, int size, const QString& job) {
  QJsonObject run{{"rank", rank},
                  {"size", size},
                  {"host", QString("node-%1").arg(rank)},
                  {"unix_time_at_0_ns", 0}};
  if (!job.isEmpty()) run["job"] = job;
  return MadeBlock("run", rank).Text(QJsonDocument(run).toJson()).Bytes();
}

QByteArray NamesBlock(int rank, const QStringList& gradients, qint64 elements) {
  QJsonArray names;
  for (const QString& name : gradients) {
    names.append(
        QJsonObject{{"bucket", names.size()},
                    {"name", name},
                    {"group", "model"},
                    {"compressor", "dgc"},
                    {"routes", QJsonArray{QJsonObject{{"op", "allgather"}, {"route", "gather"}}}},
                    {"elements", elements}});
  }
  return MadeBlock("names", rank).Text(QJsonDocument(names).toJson()).Bytes();
}

QByteArray StepsBlock(int rank, const std::vector<MadeStep>& steps) {
  using S = MadeStep;
  return MadeBlock("steps", rank)
      .Column("step", "<i8", Taken(steps, [](const S& s) { return s.step; }))
      .Column("start_ns", "<i8", Taken(steps, [](const S& s) { return s.step * 100 * kMs; }))
      .Column("begin_ns", "<i8",
              Taken(steps, [](const S& s) { return (s.step * 100 + s.before_backprop_ms) * kMs; }))
      .Column("end_ns", "<i8",
              Taken(steps, [](const S& s) { return (s.step * 100 + s.duration_ms) * kMs; }))
      .Column("exposed_communication_ns", "<i8",
              Taken(steps, [](const S& s) { return s.exposed_communication_ms * kMs; }))
      .Column("exposed_compression_ns", "<i8",
              Taken(steps, [](const S& s) { return s.exposed_compression_ms * kMs; }))
      .Column("payload_bytes", "<u8", Taken(steps, [](const S& s) { return s.payload_bytes; }))
      .Column("dense_bytes", "<u8", Taken(steps, [](const S& s) { return s.dense_bytes; }))
      .Column("target_density", "<f4", Taken(steps, [](const S& s) { return s.target_density; }))
      .Bytes();
}

QByteArray GradientsBlock(int rank, const std::vector<MadeGradient>& gradients) {
  using G = MadeGradient;
  return MadeBlock("gradients", rank)
      .Column("step", "<i8", Taken(gradients, [](const G& g) { return g.step; }))
      .Column("start_ns", "<i8", Taken(gradients, [](const G& g) { return g.step * 100 * kMs; }))
      .Column("end_ns", "<i8",
              Taken(gradients, [](const G& g) { return (g.step * 100 + g.latency_ms) * kMs; }))
      .Column("payload_bytes", "<u8", Taken(gradients, [](const G& g) { return g.payload_bytes; }))
      .Column("gradient", "<u4", Taken(gradients, [](const G& g) { return g.gradient; }))
      .Column("density", "<f4", Taken(gradients, [](const G& g) { return g.density; }))
      .Column("threshold", "<f4", Taken(gradients, [](const G& g) { return g.threshold; }))
      .Column("residual_ratio", "<f4",
              Taken(gradients, [](const G& g) { return g.residual_ratio; }))
      .Bytes();
}

QByteArray StagesBlock(int rank, const std::vector<MadeStage>& stages) {
  using S = MadeStage;
  return MadeBlock("stages", rank)
      .Note("lost", 0)
      .Column("step", "<i8", Taken(stages, [](const S& s) { return s.step; }))
      .Column("start_ns", "<i8", Taken(stages, [](const S& s) { return s.start_us * kUs; }))
      .Column("end_ns", "<i8", Taken(stages, [](const S& s) { return s.end_us * kUs; }))
      .Column("bytes_in", "<u8", Taken(stages, [](const S& s) { return s.bytes_in; }))
      .Column("bytes_out", "<u8", Taken(stages, [](const S& s) { return s.bytes_in; }))
      .Column("bucket", "<u4", Taken(stages, [](const S& s) { return s.bucket; }))
      .Column("stage", "|u1", Taken(stages, [](const S& s) { return s.stage; }))
      .Column("route", "|u1", Taken(stages, [](const S&) { return quint8{0}; }))
      .Column("ok", "|u1", Taken(stages, [](const S&) { return quint8{1}; }))
      .Bytes();
}

QByteArray EndBlock(int rank, qint64 time_ms, const QString& failure) {
  const QJsonObject all{{"time_ns", time_ms * kMs}, {"failure", failure}};
  return MadeBlock("end", rank).Text(QJsonDocument(all).toJson()).Bytes();
}

QByteArray PlanBlock(int rank, const MadePlan& plan) {
  QJsonArray buckets;
  for (const QString name : {"conv", "bias"}) {
    const QJsonObject work{{"dgc", 0.002}, {"dense", 0.001}, {"fp16", QJsonValue()}};
    buckets.append(
        QJsonObject{{"name", name}, {"form", plan.forms[buckets.size()]}, {"work_seconds", work}});
  }
  const QJsonObject all{{"time_ns", plan.from_step * 100 * kMs},
                        {"group", "model"},
                        {"from_step", plan.from_step},
                        {"by", plan.by},
                        {"settled", plan.settled},
                        {"what", plan.what},
                        {"why", plan.why},
                        {"network_bytes_per_second", plan.network},
                        {"considered", plan.considered},
                        {"buckets", buckets}};
  return MadeBlock("plans", rank).Text(QJsonDocument(all).toJson()).Bytes();
}

QJsonObject Considered(const QString& what, double measured_seconds, bool chosen) {
  const bool tried = measured_seconds > 0;
  return {{"what", what},
          {"chosen", chosen},
          {"bytes_seconds", 0.01},
          {"predicted_seconds", tried ? QJsonValue(measured_seconds) : QJsonValue()},
          {"measured_seconds", tried ? QJsonValue(measured_seconds) : QJsonValue()},
          {"not_tried", tried ? QJsonValue() : QJsonValue("bytes")},
          {"steps", tried ? 9 : 0}};
}

QByteArray StallsBlock(qint64 time_ms, const std::vector<MadeStall>& stalls, int left_out) {
  QJsonArray tensors;
  for (const MadeStall& stall : stalls) {
    tensors.append(QJsonObject{{"name", stall.name},
                               {"process_set", stall.process_set},
                               {"waited_seconds", stall.waited_seconds},
                               {"missing_ranks", stall.missing}});
  }
  const QJsonObject all{{"time_ns", time_ms * kMs}, {"tensors", tensors}, {"left_out", left_out}};
  return MadeBlock("stalls", 0).Text(QJsonDocument(all).toJson()).Bytes();
}

}  // namespace weir::monitor
