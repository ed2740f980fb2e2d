#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/supervision/duration_histogram.h"

namespace weir {

/// How a group's gradients travel in the end, where that was found out in real steps
/// (compression=auto), and what steps took then. Told by the rank that plans.
struct FormChoice {
  std::string group;
  std::string forms;               ///< "dense (5 buckets), dgc (3)".
  std::int64_t step_ns = 0;        ///< Median of the steps that were tried so.
  std::int64_t dense_step_ns = 0;  ///< The same of dense ones; 0: it is not known.
  bool dense_was_tried = false;    ///< False: that is what the bytes of dense alone would take.

  bool operator==(const FormChoice&) const = default;
};

/// Totals over the optimizer steps of one rank so far. An engine tells them to weirrun, which sums
/// a job up at its end. Times are nanoseconds, sums over all steps.
struct RankTotals {
  /// A step's duration counts from the end of the step before, if there was one.
  DurationHistogram durations;
  std::int64_t duration_ns = 0;
  // Exposed time (metrics/steps/exposed_time.h).
  std::int64_t communication_ns = 0;
  std::int64_t compression_ns = 0;
  std::int64_t exchange_ns = 0;       ///< Time with an exchange of a step under way, hidden or not.
  std::uint64_t payload_bytes = 0;    ///< Bytes that the rank put into the exchanges.
  std::uint64_t dense_bytes = 0;      ///< The same bytes uncompressed.
  std::uint64_t sent_bytes = 0;       ///< Bytes it sent for them, negotiation included.
  std::uint64_t samples = 0;          ///< Samples of these steps; 0: unknown.
  std::uint64_t lost_records = 0;     ///< Records of stages that the times above lack.
  std::uint64_t stalled_tensors = 0;  ///< Names that waited too long for other ranks.
  std::vector<std::string> stalled;   ///< The first of these names.
  std::vector<std::string> divergences;  ///< Warnings that training diverges.
  std::vector<FormChoice> choices;       ///< Of the groups that this rank plans for.

  std::uint64_t steps() const { return durations.count(); }
  /// Adds the totals of a later engine of the same rank.
  void Merge(const RankTotals& later);
};

/// Writes totals as one message (common/supervision/supervision.h): JSON.
std::string ToText(const RankTotals& totals);
/// Throws Corrupt for any other text.
RankTotals ParseRankTotals(std::string_view text);

}  // namespace weir
