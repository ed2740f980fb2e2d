#pragma once

#include <cstdint>

namespace weir {

/// Linear learning-rate warm-up (Goyal et al. 2017, section 2.2): the factor that multiplies the
/// learning rate rises from `start` at step 0 to 1 at step `steps` and stays there. With the usual
/// start = 1 / ranks a job begins at the rate of one rank. A value, thread-safe.
class LearningRateWarmup {
 public:
  /// Factor 1 for ever.
  LearningRateWarmup() = default;
  /// Throws InvalidArgument unless steps >= 0 and 0 <= start <= 1.
  LearningRateWarmup(std::int64_t steps, double start);

  double Factor(std::int64_t step) const;

 private:
  std::int64_t steps_ = 0;
  double start_ = 1.0;
};

}  // namespace weir
