#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/duration_histogram.h"

namespace weir {

/// What the optimizer steps of one rank have taken and sent so far: what an engine tells weirrun,
/// which sums a job up in the end. Times are nanoseconds, sums over all steps.
struct RankTotals {
  /// A step's duration is that from the end of the one before, where there was one.
  DurationHistogram durations;
  std::int64_t duration_ns = 0;
  // Exposed time (metrics/exposed_time.h).
  std::int64_t communication_ns = 0;
  std::int64_t compression_ns = 0;
  std::int64_t exchange_ns = 0;     ///< In which something of a step was exchanged, hidden or not.
  std::uint64_t payload_bytes = 0;  ///< What the rank put into the exchanges.
  std::uint64_t dense_bytes = 0;    ///< What that would have been uncompressed.
  std::uint64_t sent_bytes = 0;     ///< What it sent for them, agreeing on them included.
  std::uint64_t samples = 0;        ///< That the steps took; 0: not known.
  std::uint64_t lost_records = 0;   ///< Of stages: the times above lack them.
  std::uint64_t stalled_tensors = 0;  ///< By name: that waited for other ranks for too long.
  std::vector<std::string> stalled;   ///< The first of their names.

  std::uint64_t steps() const { return durations.count(); }
  /// Adds those of a later engine of the same rank.
  void Merge(const RankTotals& later);
};

/// As one message (common/supervision.h): JSON.
std::string ToText(const RankTotals& totals);
/// Throws Corrupt for what is none.
RankTotals ParseRankTotals(std::string_view text);

}  // namespace weir
