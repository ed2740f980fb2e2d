#pragma once

#include <bit>
#include <cstdint>

namespace weir {

/// Returns `value`, or 0 when it is inf or NaN, which is then counted. Uses arithmetic alone: with
/// a conditional expression, GCC 12 makes branches of two calls in one loop, which then takes
/// several times as long as vectorised.
constexpr float FiniteOrZero(float value, std::uint32_t& non_finite) {
  constexpr std::uint32_t kExponent = 0x7f800000;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto finite = static_cast<std::uint32_t>((bits & kExponent) != kExponent);
  non_finite += 1u - finite;
  return std::bit_cast<float>(bits & (0u - finite));
}

}  // namespace weir
