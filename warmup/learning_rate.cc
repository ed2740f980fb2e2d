#include "warmup/learning_rate.h"

#include <string>

#include "weir/error.h"

namespace weir {

LearningRateWarmup::LearningRateWarmup(std::int64_t steps, double start)
    : steps_(steps), start_(start) {
  if (steps < 0) {
    throw InvalidArgument("learning-rate warm-up: steps is " + std::to_string(steps) +
                          ", but must not be negative");
  }
  if (!(start >= 0.0 && start <= 1.0)) {
    throw InvalidArgument("learning-rate warm-up: start is " + std::to_string(start) +
                          ", but must be a factor from 0 to 1");
  }
}

double LearningRateWarmup::Factor(std::int64_t step) const {
  if (step >= steps_) return 1.0;
  return start_ + (1.0 - start_) * static_cast<double>(step) / static_cast<double>(steps_);
}

}  // namespace weir
