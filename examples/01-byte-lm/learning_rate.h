#pragma once

#include <cstdint>
#include <string_view>

namespace byte_lm {

/// How the learning rate goes over a run.
enum class RateSchedule { kConstant, kCosine };

/// "constant", "cosine".
std::string_view Name(RateSchedule schedule);

/// Rises linearly to `peak` over `warmup_steps`, then stays there (kConstant) or falls along half a
/// cosine to 0 at `steps` (Loshchilov and Hutter, "SGDR", 2017, without restarts).
float LearningRate(RateSchedule schedule, float peak, std::int64_t step, std::int64_t steps,
                   std::int64_t warmup_steps);

}  // namespace byte_lm
