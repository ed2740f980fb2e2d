#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "metrics/records/bucket_names.h"
#include "metrics/records/record.h"
#include "metrics/steps/exposed_time.h"

namespace weir {

/// Summary of one optimizer step on one rank.
struct StepSummary {
  std::int64_t step = -1;
  /// End of the step before, so that the time between them counts. begin_ns for the first step and
  /// after a gap in the numbers. CLOCK_MONOTONIC.
  std::int64_t start_ns = 0;
  std::int64_t begin_ns = 0;  ///< BeginStep.
  std::int64_t end_ns = 0;    ///< End of WaitStep.
  Exposed exposed;
  std::int64_t exchange_ns = 0;     ///< Time with an exchange of it under way, hidden or not.
  std::uint64_t payload_bytes = 0;  ///< Bytes that this rank put into the step's exchanges.
  std::uint64_t dense_bytes = 0;    ///< The same bytes uncompressed.
  float target_density = 1.0f;      ///< Density that the schedule asked for.
};

/// Finds the summaries of a rank's steps in its records. Not thread-safe.
class StepSummaries {
 public:
  explicit StepSummaries(const BucketNames& names) : names_(names) {}

  /// Returns the summary if the record is a step's. Its buckets' records come before.
  std::optional<StepSummary> Add(const StageRecord& record);

 private:
  std::int64_t StartOf(const StageRecord& step);
  std::int64_t ExchangeNs(const StageRecord& step);

  const BucketNames& names_;
  ExposedTime exposed_time_;
  std::vector<Interval> exchanges_;  // Since the last step's end.
  // Sums over exchanges since the last step's end.
  std::uint64_t payload_bytes_ = 0;
  std::uint64_t dense_bytes_ = 0;
  std::int64_t last_step_ = -1;
  std::int64_t last_end_ns_ = 0;  // 0: there was none.
};

}  // namespace weir
