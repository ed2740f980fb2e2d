#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metrics/records/bucket_names.h"
#include "metrics/records/run_info.h"
#include "metrics/run_log/log_blocks.h"
#include "metrics/steps/step_summary.h"

namespace weir::bench {

/// A training job that never ran.
struct JobShape {
  int layers = 1000;
  int ranks = 64;
  std::int64_t steps = 10'000;
  double steps_per_second = 20;

  std::int64_t step_ns() const { return static_cast<std::int64_t>(1e9 / steps_per_second); }
};

/// One rank of a made-up job: its records, the same in every run, turned into blocks by the
/// engine's own code. Not thread-safe.
class MadeRank {
 public:
  /// `start_ns`: start of step 0, by the monotonic clock.
  MadeRank(const JobShape& shape, int rank, std::int64_t start_ns,
           const LogBlocks::Options& options);

  /// Adds a step; without `detail` only its summary.
  void AddStep(std::int64_t step, bool detail);
  /// Returns the blocks that are due after this step; `everything`: all.
  std::vector<LogBlock> Take(std::int64_t step, bool everything);

 private:
  std::int64_t StartOf(std::int64_t step) const { return start_ns_ + step * shape_.step_ns(); }
  void AddBucket(std::int64_t step, int bucket, bool detail);
  void AddGradients(std::int64_t step, int bucket);
  /// Returns a number from 0 to 1 for any quantity.
  float Noise(std::int64_t step, std::int64_t what) const;

  const JobShape shape_;
  const RunInfo info_;
  const std::int64_t start_ns_;
  BucketNames names_;
  LogBlocks blocks_;
  StepSummaries summaries_;
  EngineSample sample_;
};

/// Writes the run logs of all ranks, as weirrun --record would. Returns rank 0's path. Throws
/// InvalidArgument when that fails.
std::string WriteRecording(const JobShape& shape, const std::string& folder);

}  // namespace weir::bench
