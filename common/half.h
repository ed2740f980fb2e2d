#pragma once

#include <bit>
#include <cstdint>

/// IEEE 754 binary16 and bfloat16 in software, one value at a time (arrays: common/half_array.h).
/// Conversions to 16 bits round to nearest, ties to even, overflow to inf. A NaN stays a NaN, made
/// quiet, with the upper bits of its payload. Bit for bit the same as F16C, on every machine; the
/// only assumption is the default rounding mode. Compiles without branches. constexpr, so that nvcc
/// compiles the same for the device (--expt-relaxed-constexpr).
namespace weir {

constexpr float HalfToFloat(std::uint16_t half) {
  constexpr std::uint32_t kRebias = (127 - 15) << 23;
  constexpr std::uint32_t kTwoToMinus14 = (127 - 14) << 23;
  const std::uint32_t magnitude = half & 0x7fffu;
  const std::uint32_t shifted = magnitude << 13;
  // A subnormal is a multiple of 2^-24: add it to 2^-14 as mantissa bits, then take 2^-14 away.
  const auto subnormal = std::bit_cast<std::uint32_t>(
      std::bit_cast<float>(kTwoToMinus14 + shifted) - std::bit_cast<float>(kTwoToMinus14));
  std::uint32_t bits = magnitude < 0x0400u ? subnormal : shifted + kRebias;
  bits += magnitude >= 0x7c00u ? kRebias : 0u;  // Exponent 31 (inf, NaN) becomes 255.
  bits |= magnitude > 0x7c00u ? 0x00400000u : 0u;
  return std::bit_cast<float>(bits | (half & 0x8000u) << 16);
}

constexpr std::uint16_t FloatToHalf(float value) {
  constexpr std::uint32_t kRebias = (127 - 15) << 23;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  // Below 2^-14: adding 0.5 lets the adder round to the multiples of 2^-24 that remain.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) -
      std::bit_cast<std::uint32_t>(0.5f);
  // A carry out of the mantissa is the next exponent, and out of the largest half it is inf.
  const std::uint32_t normal = (magnitude - kRebias + 0x0fffu + (magnitude >> 13 & 1u)) >> 13;
  std::uint32_t half = magnitude < 0x38800000u ? subnormal : normal;  // 2^-14
  half = magnitude >= 0x47800000u ? 0x7c00u : half;                   // 2^16
  half = magnitude > 0x7f800000u ? 0x7e00u | (magnitude >> 13 & 0x03ffu) : half;
  return static_cast<std::uint16_t>(half | (bits >> 16 & 0x8000u));
}

constexpr float BFloat16ToFloat(std::uint16_t bfloat16) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bfloat16) << 16);
}

constexpr std::uint16_t FloatToBFloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return static_cast<std::uint16_t>(is_nan ? bits >> 16 | 0x0040u : rounded);
}

}  // namespace weir
