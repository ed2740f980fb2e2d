#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir {

/// What a step adds to the error of error feedback: error = scale * gradient + ratio * error, entry
/// by entry, where what is not finite counts as 0.
struct ErrorStep {
  std::span<const float> gradient;  ///< As long as the error.
  float scale = 1.0f;
  float ratio = 1.0f;  ///< ErrorRatio.
};

/// Takes the step and returns how often something was not finite: the scaled gradient, or the sum,
/// which may overflow by itself and would then stay for ever. Thread-safe.
std::uint32_t Take(const ErrorStep& step, std::span<float> error);

}  // namespace weir
