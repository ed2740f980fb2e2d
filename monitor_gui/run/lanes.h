#pragma once

#include <QString>
#include <array>
#include <cstdint>
#include <vector>

#include "monitor_gui/run/run.h"

namespace weir::monitor {

/// Rows in which a rank's work is drawn.
enum class Lane : std::uint8_t { kBackprop, kCompress, kExchange, kMerge };
inline constexpr int kLanes = 4;
QString Name(Lane lane);

/// A part of the time, in nanoseconds as in RankRun.
struct TimeWindow {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;

  std::int64_t length_ns() const { return end_ns - start_ns; }
};

/// Content of a lane between two moments.
struct LaneInterval {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t step = -1;
  std::uint64_t bytes = 0;  ///< Sent, or produced.
  std::uint32_t bucket = 0;
  std::uint32_t count = 1;  ///< Number of intervals, too short to tell apart, in this one.
  Stage stage = Stage::kQueue;
  bool ok = true;
};

/// Returns the intervals of a rank that touch the window, by lane, and there by time of
/// start. Intervals shorter than `least_ns` and as close to each other become one, so that
/// there are no more than pixels.
std::array<std::vector<LaneInterval>, kLanes> IntervalsOf(const RankRun& rank, TimeWindow window,
                                                          std::int64_t least_ns);
/// Returns the intervals of one lane.
std::vector<LaneInterval> IntervalsOf(const RankRun& rank, Lane lane, TimeWindow window,
                                      std::int64_t least_ns);

}  // namespace weir::monitor
