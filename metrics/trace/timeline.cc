#include "metrics/trace/timeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/clock.h"
#include "metrics/files/json_text.h"
#include "metrics/files/rank_path.h"

namespace weir {
namespace {

// Track 0 is the rank's; bucket b has track 2b + 1 and, for its negotiation, track 2b + 2.
constexpr std::uint64_t kRankTrack = 0;

std::uint64_t NumberOf(std::uint32_t bucket, Stage stage) {
  return 2 * std::uint64_t{bucket} + (stage == Stage::kNegotiate ? 2 : 1);
}

std::string Upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string EventName(Stage stage, const RouteInfo& route) {
  switch (stage) {
    case Stage::kQueue:
      return "QUEUE";
    case Stage::kNegotiate:
      return "NEGOTIATE_" + Upper(route.op);
    case Stage::kPack:
      return "MEMCPY_IN_FUSION_BUFFER";
    case Stage::kCompress:
      return "COMPRESS";
    case Stage::kExchange:
      return Upper(route.op);
    case Stage::kMerge:
      return "MERGE";
    case Stage::kUnpack:
      return "MEMCPY_OUT_FUSION_BUFFER";
    case Stage::kStep:
    case Stage::kRound:
    case Stage::kGradient:
    case Stage::kResidual:
      break;  // Not a bucket's.
  }
  return "";
}

std::string Number(float value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }

/// Writes microseconds with three decimals, in whole numbers: several times faster than %.3f.
std::string Microseconds(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

std::string Metadata(const char* what, int pid, std::uint64_t track, const std::string& name) {
  return fmt::format(R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{"name":{}}}}})", what,
                     pid, track, JsonText(name));
}

std::string Clock(const RunInfo& info) {
  if (!info.clock) return "";
  return fmt::format(R"(,"clock_offset_ns":{},"clock_error_ns":{},"job":"{}")",
                     info.clock->offset_ns, info.clock->error_ns, JobId(info));
}

std::string Head(const RunInfo& info) {
  return "[\n" +
         Metadata("process_name", info.rank, kRankTrack,
                  fmt::format("rank {} of {} on {}", info.rank, info.size, info.host)) +
         ",\n" + Metadata("thread_name", info.rank, kRankTrack, "steps") + ",\n" +
         fmt::format(
             R"({{"name":"process_sort_index","ph":"M","pid":{0},"args":{{"sort_index":{0},)"
             R"("unix_time_at_0_ns":{1}{2}}}}})",
             info.rank, JobTimeAtZeroNs(info), Clock(info));
}

std::string DurationEvent(const StageRecord& record, int pid, std::uint64_t track,
                          const std::string& quoted_name) {
  return fmt::format(
      R"(,{}{{"name":{},"cat":"{}","ph":"X","ts":{},"dur":{},"pid":{},"tid":{},"args":)"
      R"({{"step":{},"bytes_in":{},"bytes_out":{},"density":{},"threshold":{},"ok":{}}}}})",
      '\n', quoted_name, Name(record.stage), Microseconds(record.start_ns),
      Microseconds(std::max<std::int64_t>(record.end_ns - record.start_ns, 0)), pid, track,
      record.step, record.bytes_in, record.bytes_out, Number(record.density),
      Number(record.threshold), record.ok);
}

std::string CycleMark(const StageRecord& record, int pid) {
  return fmt::format(R"(,{}{{"name":"CYCLE_START","ph":"i","s":"p","ts":{},"pid":{},"tid":{}}})",
                     '\n', Microseconds(record.start_ns), pid, kRankTrack);
}

}  // namespace

Timeline::Timeline(const std::string& path, const RunInfo& info, const BucketNames& names,
                   bool mark_cycles)
    : rank_(info.rank),
      names_(names),
      mark_cycles_(mark_cycles),
      file_(RankPath(path, info.rank), Head(info), "\n]\n") {}

const Timeline::Track& Timeline::TrackOf(std::uint32_t bucket) {
  if (tracks_.size() <= bucket) tracks_.resize(bucket + 1);
  Track& track = tracks_[bucket];
  if (!track.event_names.empty()) return track;
  const BucketInfo& info = names_.Find(bucket);
  for (const RouteInfo& route : info.routes) {
    auto& event_names = track.event_names.emplace_back();
    for (std::size_t i = 0; i < event_names.size(); ++i) {
      event_names[i] = JsonText(EventName(static_cast<Stage>(i), route));
    }
  }
  file_.Append(",\n" +
               Metadata("thread_name", rank_, NumberOf(bucket, Stage::kExchange), info.name) +
               ",\n" +
               Metadata("thread_name", rank_, NumberOf(bucket, Stage::kNegotiate),
                        info.name + " (negotiation)"));
  return track;
}

void Timeline::Add(const StageRecord& record) {
  if (record.stage == Stage::kRound) {
    if (mark_cycles_) file_.Append(CycleMark(record, rank_));
  } else if (record.stage == Stage::kStep) {
    file_.Append(DurationEvent(record, rank_, kRankTrack, "\"STEP\""));
  } else if (IsOfBucket(record.stage)) {
    const Track& track = TrackOf(record.bucket);
    file_.Append(
        DurationEvent(record, rank_, NumberOf(record.bucket, record.stage),
                      track.event_names.at(record.route)[static_cast<std::size_t>(record.stage)]));
  }
}

}  // namespace weir
