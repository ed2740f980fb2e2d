#pragma once

#include <cstdint>
#include <string_view>

namespace weir {

/// The learning rate as a function of the step, the same on all ranks. A plain value; thread-safe.
///
///     const weir::LearningRateSchedule rate{.peak = 0.4f, .steps = 10000, .warmup_steps = 500};
///     optimizer.BeginStep(rate.At(step));
struct LearningRateSchedule {
  enum class Decay {
    kConstant,
    kCosine,  ///< Half a cosine down to 0 (Loshchilov and Hutter, 2017, without restarts).
  };

  float peak = 0.1f;
  Decay decay = Decay::kCosine;
  /// Step at which the decay has reached 0. Not used by kConstant.
  std::int64_t steps = 0;
  /// The rate rises linearly from warmup_start * peak at step 0 to peak at this step (Goyal et al.,
  /// 2017, section 2.2, where warmup_start is 1 / ranks).
  std::int64_t warmup_steps = 0;
  float warmup_start = 0.0f;

  /// Throws InvalidArgument for a negative number of steps, a decay that ends within the warm-up,
  /// or a warmup_start outside 0 to 1.
  float At(std::int64_t step) const;
};

/// "constant", "cosine".
std::string_view Name(LearningRateSchedule::Decay decay);

}  // namespace weir
