#pragma once

#include <cstdint>
#include <vector>

#include "metrics/records/recorder.h"
#include "metrics/steps/exposed_time.h"

namespace weir::bench {

/// Times of one step, in milliseconds. Exposed is the time that the training thread waited: inside
/// a submission or in the wait at the end of the step.
struct Split {
  double step = 0;
  double compression = 0;  ///< Pack, Compress, Merge and Unpack, on any thread.
  double exposed_compression = 0;
  double exposed_exchange = 0;
  double forward = 0;  ///< What the training thread computed, if the benchmark says so.
  double backward = 0;
};

/// Splits up a step that took `step_ns`, in which the training thread has waited so, by what the
/// recorder has from record `first` on.
Split SplitOf(const Recorder& recorder, std::uint64_t first, std::int64_t step_ns,
              const std::vector<Interval>& waits);

/// Returns the medians of each time. `splits` must not be empty.
Split MedianOf(const std::vector<Split>& splits);

}  // namespace weir::bench
