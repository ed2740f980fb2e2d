#pragma once

#include <cstdint>

#include "compression/memory/finite.h"

/// Arithmetic of the memories around a codec (compression/memory/) on single entries, written once
/// for the CPU and for kernels. `scaled` is an entry of the gradient, scaled and finite.
namespace weir {

/// Signum: advances m, whose sign is sent.
constexpr void AdvanceSignum(float mu, float scaled, float& m) {
  m = mu * m + (1.0f - mu) * scaled;
}
constexpr float SignOf(float value) { return value > 0.0f ? 1.0f : value < 0.0f ? -1.0f : 0.0f; }

/// ErrorFeedback: returns the value to send; for `ratio` see ErrorRatio.
constexpr float WithError(float scaled, float ratio, float error, std::uint32_t& non_finite) {
  return FiniteOrZero(scaled + ratio * error, non_finite);
}

}  // namespace weir
