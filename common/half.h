#pragma once

#include <bit>
#include <cstdint>

namespace weir {

/// Conversions between fp32 and the two 16-bit floats. Rounding is to nearest, ties to even; NaN
/// stays NaN. Free of branches, so that loops over them vectorise.

inline float HalfToFloat(std::uint16_t half) {
  const std::uint32_t magnitude = half & 0x7fffu;
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t rebias = magnitude >= 0x7c00u ? 224u << 23 : 112u << 23;
  const std::uint32_t normal = (magnitude << 13) + rebias;
  const float subnormal = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f;
  const std::uint32_t bits = magnitude < 0x400u ? std::bit_cast<std::uint32_t>(subnormal) : normal;
  return std::bit_cast<float>(bits | sign);
}

inline std::uint16_t FloatToHalf(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  // Adding 0.5, whose ulp is fp16's smallest subnormal, lets the hardware do the rounding.
  const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u;
  const std::uint32_t normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  const std::uint32_t special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  std::uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
  result = magnitude >= 0x477ff000u ? special : result;
  return static_cast<std::uint16_t>(result | sign);
}

inline float BFloat16ToFloat(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

inline std::uint16_t FloatToBFloat16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40u;
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return static_cast<std::uint16_t>(is_nan ? quiet : rounded);
}

}  // namespace weir
