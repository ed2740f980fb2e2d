#include "monitor_gui/run/lanes.h"

#include <algorithm>
#include <array>
#include <optional>

namespace weir::monitor {
namespace {

// Records of several threads arrive almost in the order of their ends.
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

/// Returns intervals from BeginStep until the rank had its last gradient.
std::vector<LaneInterval> Backprops(const RankRun& rank, TimeWindow window) {
  std::vector<LaneInterval> intervals;
  const auto& steps = rank.steps();
  const auto first = std::ranges::partition_point(
      steps, [&](const StepRow& step) { return step.end_ns < window.start_ns; });
  for (auto step = first; step != steps.end() && step->begin_ns <= window.end_ns; ++step) {
    const std::int64_t exposed = step->exposed_communication_ns + step->exposed_compression_ns;
    intervals.push_back({.start_ns = step->begin_ns,
                         .end_ns = std::max(step->begin_ns, step->end_ns - exposed),
                         .step = step->step,
                         .count = step->count});
  }
  return intervals;
}

bool IsTiny(const LaneInterval& interval, std::int64_t least_ns) {
  return interval.count > 1 || interval.end_ns - interval.start_ns < least_ns;
}

/// Merges two intervals into one.
void Add(LaneInterval& first, const LaneInterval& second) {
  first.start_ns = std::min(first.start_ns, second.start_ns);
  first.end_ns = std::max(first.end_ns, second.end_ns);
  first.bytes += second.bytes;
  first.count += second.count;
  first.ok = first.ok && second.ok;
}

/// `intervals` by time of start.
void Join(std::vector<LaneInterval>& intervals, std::int64_t least_ns) {
  std::size_t kept = 0;
  for (const LaneInterval& next : intervals) {
    const bool joins = kept > 0 && next.start_ns - intervals[kept - 1].end_ns < least_ns &&
                       IsTiny(next, least_ns) && IsTiny(intervals[kept - 1], least_ns);
    if (joins) {
      Add(intervals[kept - 1], next);
    } else {
      intervals[kept++] = next;
    }
  }
  intervals.resize(kept);
}

/// Appends, or adds to the last interval if both are in one pixel: there may be hundreds of
/// intervals in one, and sorting them all would take long.
void Append(std::vector<LaneInterval>& intervals, const LaneInterval& next, std::int64_t least_ns) {
  const bool same_pixel = !intervals.empty() &&
                          next.start_ns / least_ns == intervals.back().start_ns / least_ns &&
                          IsTiny(next, least_ns) && IsTiny(intervals.back(), least_ns);
  if (same_pixel) {
    Add(intervals.back(), next);
  } else {
    intervals.push_back(next);
  }
}

}  // namespace

QString Name(Lane lane) {
  constexpr std::array<const char*, kLanes> kNames = {"backprop", "compress", "exchange", "merge"};
  return QString::fromLatin1(kNames[static_cast<std::size_t>(lane)]);
}

std::array<std::vector<LaneInterval>, kLanes> IntervalsOf(const RankRun& rank, TimeWindow window,
                                                          std::int64_t least_ns) {
  least_ns = std::max<std::int64_t>(least_ns, 1);
  std::array<std::vector<LaneInterval>, kLanes> lanes;
  lanes[static_cast<std::size_t>(Lane::kBackprop)] = Backprops(rank, window);
  const auto& stages = rank.stages();
  const auto in_window = std::ranges::partition_point(
      stages, [&](const StageRow& row) { return row.end_ns < window.start_ns; });
  const auto first = in_window - std::min(kSlack, in_window - stages.begin());
  std::ptrdiff_t beyond = 0;  // Number in a row that begin after the window.
  for (auto row = first; row != stages.end() && beyond < kSlack; ++row) {
    beyond = row->start_ns > window.end_ns ? beyond + 1 : 0;
    const bool touches = row->end_ns >= window.start_ns && row->start_ns <= window.end_ns;
    if (!touches) continue;
    const auto lane = LaneOf(row->stage);
    if (!lane) continue;
    Append(lanes[static_cast<std::size_t>(*lane)],
           {.start_ns = row->start_ns,
            .end_ns = row->end_ns,
            .step = row->step,
            .bytes = row->stage == Stage::kExchange ? row->bytes_in : row->bytes_out,
            .bucket = row->bucket,
            .stage = row->stage,
            .ok = row->ok},
           least_ns);
  }
  for (auto& intervals : lanes) {
    std::ranges::sort(intervals, {}, &LaneInterval::start_ns);
    Join(intervals, least_ns);
  }
  return lanes;
}

std::vector<LaneInterval> IntervalsOf(const RankRun& rank, Lane lane, TimeWindow window,
                                      std::int64_t least_ns) {
  return IntervalsOf(rank, window, least_ns)[static_cast<std::size_t>(lane)];
}

}  // namespace weir::monitor
