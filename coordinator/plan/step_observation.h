#pragma once

#include <cstddef>
#include <vector>

#include "coordinator/plan/step_plan.h"

namespace weir {

/// What a bucket took in a step, on the rank that plans. Times in seconds since the step's first
/// gradient.
struct BucketObservation {
  double ready = 0.0;   ///< When its last gradient was there.
  double encode = 0.0;  ///< Time for Pack and Compress.
  double exchange_begin = 0.0;
  double exchange_end = 0.0;
  double decode = 0.0;  ///< Time for Relay, Merge and Unpack.
  /// Bytes that a rank sends in each form, at the step's density.
  ByForm<double> bytes{};
};

/// A step as it was taken.
struct StepObservation {
  StepPlan plan;         ///< Forms that buckets travelled in.
  double seconds = 0.0;  ///< From the first gradient to the last result.
  std::vector<BucketObservation> buckets;
};

}  // namespace weir
