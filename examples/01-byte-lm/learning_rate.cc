#include "examples/01-byte-lm/learning_rate.h"

#include <cmath>
#include <numbers>

namespace byte_lm {

std::string_view Name(RateSchedule schedule) {
  return schedule == RateSchedule::kCosine ? "cosine" : "constant";
}

float LearningRate(RateSchedule schedule, float peak, std::int64_t step, std::int64_t steps,
                   std::int64_t warmup_steps) {
  if (step < warmup_steps) {
    return peak * static_cast<float>(step + 1) / static_cast<float>(warmup_steps);
  }
  if (schedule == RateSchedule::kConstant) return peak;
  const double done =
      static_cast<double>(step - warmup_steps) / static_cast<double>(steps - warmup_steps);
  return static_cast<float>(0.5 * peak * (1.0 + std::cos(std::numbers::pi * done)));
}

}  // namespace byte_lm
