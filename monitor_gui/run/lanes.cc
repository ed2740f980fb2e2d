#include "monitor_gui/run/lanes.h"

#include <algorithm>
#include <array>
#include <optional>

namespace weir::monitor {
namespace {

// Records of several threads come nearly in the order of their ends.
constexpr std::ptrdiff_t kSlack = 4096;

std::optional<Lane> LaneOf(Stage stage) {
  switch (stage) {
    case Stage::kPack:
    case Stage::kCompress:
      return Lane::kCompress;
    case Stage::kExchange:
      return Lane::kExchange;
    case Stage::kMerge:
    case Stage::kUnpack:
      return Lane::kMerge;
    case Stage::kQueue:
    case Stage::kNegotiate:
      break;
  }
  return std::nullopt;
}

/// From the start of a step until the rank had its last gradient.
std::vector<LaneInterval> Backprops(const RankRun& rank, TimeWindow window) {
  std::vector<LaneInterval> intervals;
  const auto& steps = rank.steps();
  const auto first = std::ranges::partition_point(
      steps, [&](const StepRow& step) { return step.end_ns < window.start_ns; });
  for (auto step = first; step != steps.end() && step->start_ns <= window.end_ns; ++step) {
    const std::int64_t exposed = step->exposed_communication_ns + step->exposed_compression_ns;
    intervals.push_back({.start_ns = step->start_ns,
                         .end_ns = std::max(step->start_ns, step->end_ns - exposed),
                         .step = step->step});
  }
  return intervals;
}

void Join(std::vector<LaneInterval>& intervals, std::int64_t least_ns) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const LaneInterval& next = intervals[i];
    if (kept > 0) {
      LaneInterval& last = intervals[kept - 1];
      const bool close = next.start_ns - last.end_ns < least_ns;
      const bool tiny = next.end_ns - next.start_ns < least_ns;
      const bool last_is_tiny = last.count > 1 || last.end_ns - last.start_ns < least_ns;
      if (close && tiny && last_is_tiny) {
        last.end_ns = std::max(last.end_ns, next.end_ns);
        last.bytes += next.bytes;
        last.count += next.count;
        last.ok = last.ok && next.ok;
        continue;
      }
    }
    intervals[kept++] = next;
  }
  intervals.resize(kept);
}

}  // namespace

QString Name(Lane lane) {
  constexpr std::array<const char*, kLanes> kNames = {"backprop", "compress", "exchange", "merge"};
  return QString::fromLatin1(kNames[static_cast<std::size_t>(lane)]);
}

std::vector<LaneInterval> IntervalsOf(const RankRun& rank, Lane lane, TimeWindow window,
                                      std::int64_t least_ns) {
  if (lane == Lane::kBackprop) return Backprops(rank, window);
  const auto& stages = rank.stages();
  const auto in_window = std::ranges::partition_point(
      stages, [&](const StageRow& row) { return row.end_ns < window.start_ns; });
  std::vector<LaneInterval> intervals;
  const auto first = in_window - std::min(kSlack, in_window - stages.begin());
  std::ptrdiff_t beyond = 0;  // How many in a row begin behind the window.
  for (auto row = first; row != stages.end() && beyond < kSlack; ++row) {
    beyond = row->start_ns > window.end_ns ? beyond + 1 : 0;
    const bool touches = row->end_ns >= window.start_ns && row->start_ns <= window.end_ns;
    if (!touches || LaneOf(row->stage) != lane) continue;
    intervals.push_back({.start_ns = row->start_ns,
                         .end_ns = row->end_ns,
                         .step = row->step,
                         .bytes = row->stage == Stage::kExchange ? row->bytes_in : row->bytes_out,
                         .bucket = row->bucket,
                         .stage = row->stage,
                         .ok = row->ok});
  }
  std::ranges::sort(intervals, {}, &LaneInterval::start_ns);
  Join(intervals, least_ns);
  return intervals;
}

}  // namespace weir::monitor
