#include "weir/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "weir/error.h"

namespace weir {
namespace {

void Check(const LearningRateSchedule& schedule) {
  if (schedule.warmup_steps < 0) {
    throw InvalidArgument("learning rate: warmup_steps is " +
                          std::to_string(schedule.warmup_steps) + ", but must not be negative");
  }
  if (schedule.decay != LearningRateSchedule::Decay::kConstant &&
      schedule.steps <= schedule.warmup_steps) {
    throw InvalidArgument("learning rate: it decays until step " + std::to_string(schedule.steps) +
                          ", which must lie after the warm-up of " +
                          std::to_string(schedule.warmup_steps) + " steps");
  }
  if (!(schedule.warmup_start >= 0.0f && schedule.warmup_start <= 1.0f)) {
    throw InvalidArgument("learning rate: warmup_start is " +
                          std::to_string(schedule.warmup_start) +
                          ", but must be a factor from 0 to 1");
  }
}

}  // namespace

std::string_view Name(LearningRateSchedule::Decay decay) {
  return decay == LearningRateSchedule::Decay::kCosine ? "cosine" : "constant";
}

float LearningRateSchedule::At(std::int64_t step) const {
  Check(*this);
  if (step < warmup_steps) {
    const auto done = static_cast<float>(step) / static_cast<float>(warmup_steps);
    return peak * (warmup_start + (1.0f - warmup_start) * done);
  }
  if (decay == Decay::kConstant) return peak;
  const double done = std::min(
      1.0, static_cast<double>(step - warmup_steps) / static_cast<double>(steps - warmup_steps));
  return static_cast<float>(0.5 * static_cast<double>(peak) *
                            (1.0 + std::cos(std::numbers::pi * done)));
}

}  // namespace weir
