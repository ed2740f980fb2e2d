#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir {

/// One step's update of the error of error feedback: error = scale * gradient + ratio * error,
/// entry by entry; non-finite values count as 0.
struct ErrorStep {
  std::span<const float> gradient;  ///< As long as the error.
  float scale = 1.0f;
  float ratio = 1.0f;  ///< ErrorRatio.
};

/// Takes the step. Returns the number of non-finite values: scaled gradients, and sums, which may
/// overflow by themselves and would then stay for ever. Thread-safe.
std::uint32_t Take(const ErrorStep& step, std::span<float> error);

}  // namespace weir
