#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "metrics/bucket_names.h"
#include "metrics/exposed_time.h"
#include "metrics/record.h"

namespace weir {

/// What there is to say of one optimizer step on one rank.
struct StepSummary {
  std::int64_t step = -1;
  /// When the step before ended, so that what lies between them counts; of the first step, and
  /// behind a gap in the numbers, begin_ns. CLOCK_MONOTONIC.
  std::int64_t start_ns = 0;
  std::int64_t begin_ns = 0;  ///< BeginStep.
  std::int64_t end_ns = 0;    ///< End of WaitStep.
  Exposed exposed;
  std::int64_t exchange_ns = 0;     ///< In which something of it was exchanged, hidden or not.
  std::uint64_t payload_bytes = 0;  ///< What this rank put into the step's exchanges.
  std::uint64_t dense_bytes = 0;    ///< What that would have been uncompressed.
  float target_density = 1.0f;      ///< What the schedule asked for.
};

/// Finds the summaries of a rank's steps in its records. Not thread-safe.
class StepSummaries {
 public:
  explicit StepSummaries(const BucketNames& names) : names_(names) {}

  /// The summary of a step whose record this is. Its buckets' records came before.
  std::optional<StepSummary> Add(const StageRecord& record);

 private:
  std::int64_t StartOf(const StageRecord& step);
  std::int64_t ExchangeNs(const StageRecord& step);

  const BucketNames& names_;
  ExposedTime exposed_time_;
  std::vector<Interval> exchanges_;  // Since the last step's end.
  // Of exchanges since the last step's end.
  std::uint64_t payload_bytes_ = 0;
  std::uint64_t dense_bytes_ = 0;
  std::int64_t last_step_ = -1;
  std::int64_t last_end_ns_ = 0;  // 0: there was none.
};

}  // namespace weir
