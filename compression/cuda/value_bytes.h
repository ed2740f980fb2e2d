#pragma once

#include <cuda_runtime.h>

#include <bit>
#include <cstddef>
#include <cstdint>

#include "common/half.h"
#include "compression/dgc/dgc_math.h"
#include "compression/wire/part_header.h"
#include "compression/wire/value_coding.h"
#include "compression/wire/value_type.h"

/// Values of sparse and dense parts, one at a time, at any place
/// (compression/wire/value_coding.h).
namespace weir::cuda {

/// Up to four bytes of `bytes` from `at` on, the first one lowest; 0 beyond `size`.
__device__ inline std::uint32_t WordAt(const std::byte* bytes, std::size_t at, std::size_t size) {
  std::uint32_t word = 0;
  for (unsigned b = 0; b < 4; ++b) {
    if (at + b < size) word |= static_cast<std::uint32_t>(bytes[at + b]) << 8 * b;
  }
  return word;
}

/// The scale exponent of values whose largest finite one has this key.
__device__ inline int ExponentOf(ValueType type, std::uint32_t largest) {
  return type == ValueType::kFloat32 ? 0 : ScaleExponentOfLargest(largest);
}

/// The exponent stored in a part.
__device__ inline int ExponentIn(const std::byte* part) {
  return static_cast<std::int8_t>(part[1]);
}

/// Writes value i of a part, and returns the value that a receiver decodes.
__device__ inline float WriteValue(ValueType type, int exponent, float value, std::size_t i,
                                   std::byte* values) {
  if (type == ValueType::kFloat32) {
    const float sent = Saturated(value, MagnitudeOfKey(kInfinityKey - 1));
    const auto bits = std::bit_cast<std::uint32_t>(sent);
    for (unsigned b = 0; b < 4; ++b) values[4 * i + b] = static_cast<std::byte>(bits >> 8 * b);
    return sent;
  }
  const float scaled = Saturated(value * PowerOfTwo(-exponent), kLargestHalf);
  const std::uint16_t half = FloatToHalf(scaled);
  values[2 * i] = static_cast<std::byte>(half);
  values[2 * i + 1] = static_cast<std::byte>(half >> 8);
  return HalfToFloat(half) * PowerOfTwo(exponent);
}

/// Returns value i of a part.
__device__ inline float DecodedValue(const std::byte* values, std::size_t i, ValueType type,
                                     float factor) {
  if (type == ValueType::kFloat32) {
    return std::bit_cast<float>(WordAt(values, 4 * i, 4 * i + 4)) * factor;
  }
  return HalfToFloat(static_cast<std::uint16_t>(WordAt(values, 2 * i, 2 * i + 2))) * factor;
}

}  // namespace weir::cuda
