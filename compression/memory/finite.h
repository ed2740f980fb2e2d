#pragma once

#include <bit>
#include <cstdint>

namespace weir {

/// `value`, or 0 when it is inf or NaN, which is then counted. Without branches, so that the loops
/// around it vectorise.
inline float FiniteOrZero(float value, std::uint32_t& non_finite) {
  constexpr std::uint32_t kExponent = 0x7f800000;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const bool finite = (bits & kExponent) != kExponent;
  non_finite += finite ? 0u : 1u;
  return std::bit_cast<float>(finite ? bits : 0u);
}

}  // namespace weir
