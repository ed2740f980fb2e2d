#include "monitor_gui/export/trace.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>

namespace weir::monitor {
namespace {

constexpr quint64 kRankTrack = 0;

// Track 0 is the rank's; bucket b has track 2b + 1 and, for its negotiation, track 2b + 2.
quint64 TrackOf(std::uint32_t bucket, bool negotiates) {
  return 2 * quint64{bucket} + (negotiates ? 2 : 1);
}

QString OperationOf(const NameInfo& info, std::size_t route) {
  return route < info.routes.size() ? info.routes[route].first.toUpper() : QString("EXCHANGE");
}

QString EventName(const StageRow& row, const NameInfo& info) {
  switch (row.stage) {
    case Stage::kQueue:
      return "QUEUE";
    case Stage::kNegotiate:
      return "NEGOTIATE_" + OperationOf(info, row.route);
    case Stage::kPack:
      return "MEMCPY_IN_FUSION_BUFFER";
    case Stage::kCompress:
      return "COMPRESS";
    case Stage::kExchange:
      return OperationOf(info, row.route);
    case Stage::kMerge:
      return "MERGE";
    case Stage::kUnpack:
      return "MEMCPY_OUT_FUSION_BUFFER";
  }
  return {};
}

/// Makes a JSON string, with its quotes.
QByteArray Quoted(const QString& text) {
  const QByteArray array = QJsonDocument(QJsonArray{text}).toJson(QJsonDocument::Compact);
  return array.sliced(1, array.size() - 2);
}

/// Writes microseconds with the nanoseconds as decimals.
QByteArray Microseconds(std::int64_t ns) {
  return QByteArray::number(ns / 1000) + "." +
         QByteArray::number(ns % 1000 + 1000).sliced(1);  // With leading zeros.
}

QByteArray Metadata(const char* what, int rank, quint64 track, const QString& name) {
  return QByteArray("{\"name\":\"") + what + "\",\"ph\":\"M\",\"pid\":" + QByteArray::number(rank) +
         ",\"tid\":" + QByteArray::number(track) + ",\"args\":{\"name\":" + Quoted(name) + "}}";
}

std::int64_t OriginOf(const Run& run) {
  std::int64_t origin = std::numeric_limits<std::int64_t>::max();
  for (const auto& [rank, known] : run.ranks()) {
    if (!known.steps().empty()) origin = std::min(origin, known.steps().front().begin_ns);
    for (const StageRow& row : known.stages()) origin = std::min(origin, row.start_ns);
  }
  return origin == std::numeric_limits<std::int64_t>::max() ? 0 : origin;
}

class Writer {
 public:
  Writer(QIODevice& device, std::int64_t origin_ns) : device_(device), origin_ns_(origin_ns) {}

  void Write(int rank, const RankRun& known) {
    Append(Metadata("process_name", rank, kRankTrack,
                    QString("rank %1 of %2 on %3").arg(rank).arg(known.size()).arg(known.host())));
    Append(Metadata("thread_name", rank, kRankTrack, "steps"));
    Append("{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":" + QByteArray::number(rank) +
           ",\"args\":{\"sort_index\":" + QByteArray::number(rank) +
           ",\"unix_time_at_0_ns\":" + QByteArray::number(origin_ns_) + "}}");
    for (const StepRow& step : known.steps()) {
      Append(Event("STEP", "step", step.begin_ns, step.end_ns) + Place(rank, kRankTrack) +
             ",\"args\":{\"step\":" + QByteArray::number(step.step) +
             ",\"payload_bytes\":" + QByteArray::number(step.payload_bytes) +
             ",\"dense_bytes\":" + QByteArray::number(step.dense_bytes) + Stands(step) + "}}");
    }
    std::set<std::uint32_t> named;
    for (const StageRow& row : known.stages()) {
      const NameInfo& info = known.NameOf(row.bucket);
      if (named.insert(row.bucket).second) NameTracks(rank, row.bucket, info.name);
      Append(Event(EventName(row, info), Name(row.stage).toLatin1(), row.start_ns, row.end_ns) +
             Place(rank, TrackOf(row.bucket, row.stage == Stage::kNegotiate)) +
             ",\"args\":{\"step\":" + QByteArray::number(row.step) +
             ",\"bytes_in\":" + QByteArray::number(row.bytes_in) + ",\"bytes_out\":" +
             QByteArray::number(row.bytes_out) + ",\"ok\":" + (row.ok ? "true" : "false") + "}}");
    }
  }
  void End() { Put(is_empty_ ? "[]\n" : "\n]\n"); }

 private:
  QByteArray Event(const QString& name, const QByteArray& category, std::int64_t start_ns,
                   std::int64_t end_ns) const {
    return "{\"name\":" + Quoted(name) + ",\"cat\":\"" + category +
           "\",\"ph\":\"X\",\"ts\":" + Microseconds(start_ns - origin_ns_) +
           ",\"dur\":" + Microseconds(std::max<std::int64_t>(end_ns - start_ns, 0));
  }
  static QByteArray Place(int rank, quint64 track) {
    return ",\"pid\":" + QByteArray::number(rank) + ",\"tid\":" + QByteArray::number(track);
  }
  /// In a long run an old event stands for several steps.
  static QByteArray Stands(const StepRow& step) {
    return step.count == 1 ? "" : ",\"steps\":" + QByteArray::number(step.count);
  }
  void NameTracks(int rank, std::uint32_t bucket, const QString& name) {
    Append(Metadata("thread_name", rank, TrackOf(bucket, false), name));
    Append(Metadata("thread_name", rank, TrackOf(bucket, true), name + " (negotiation)"));
  }
  void Append(const QByteArray& event) {
    Put((is_empty_ ? "[\n" : ",\n") + event);
    is_empty_ = false;
  }
  void Put(const QByteArray& bytes) {
    if (device_.write(bytes) != bytes.size())
      throw std::runtime_error(device_.errorString().toStdString());
  }

  QIODevice& device_;
  const std::int64_t origin_ns_;
  bool is_empty_ = true;
};

}  // namespace

void WriteTrace(const Run& run, QIODevice& device) {
  Writer writer(device, OriginOf(run));
  for (const auto& [rank, known] : run.ranks()) writer.Write(rank, known);
  writer.End();
}

}  // namespace weir::monitor
