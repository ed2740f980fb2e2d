#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "compression/wire/value_type.h"
#include "weir/dtype.h"

/// Values of a part: as fp32, as fp16 with one power of two taken out, or in fewer bits
/// (compression/wire/low_bit_values.h). Pure functions, thread-safe.
namespace weir {

/// Exponents that a part may hold: every half times 2^e is then a finite float, without rounding.
inline constexpr int kMinScaleExponent = -125;
inline constexpr int kMaxScaleExponent = 112;

std::size_t ValueBytes(std::size_t count, ValueType type);

constexpr float PowerOfTwo(int exponent) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(127 + exponent) << 23);
}

inline constexpr float kLargestHalf = 65504.0f;

/// Comparisons are written so that NaN becomes 0.
constexpr float Saturated(float value, float limit) {
  const float number = value == value ? value : 0.0f;
  return std::clamp(number, -limit, limit);
}

/// ScaleExponent of values whose largest finite one has these bits,
/// without its sign. Not for fp32.
constexpr int ScaleExponentOfLargest(std::uint32_t bits) {
  // By value: a GPU has no namespace-level constant that std::clamp's references could refer to.
  const int lowest = kMinScaleExponent;
  const int highest = kMaxScaleExponent;
  return std::clamp(static_cast<int>(bits >> 23) - 127 - 15, lowest, highest);
}

/// The e for which the largest finite |value| * 2^-e lies in [2^15, 2^16), the upper end of fp16,
/// within the limits above. 0 for fp32.
int ScaleExponent(std::span<const float> values, ValueType type);

/// Writes value * 2^-exponent, rounded to nearest even (low-bit types: their own rounding), and
/// replaces each value by its decoded value. Values too large for the type, inf included,
/// saturate; NaN is written as 0.
void EncodeValues(std::span<float> values, ValueType type, int exponent, std::byte* out);

/// Throws Corrupt unless EncodeValues could have written the bytes, ValueBytes(count, type) of
/// them.
void CheckValues(std::span<const std::byte> bytes, std::size_t count, ValueType type);

/// True if no encoded value of a type (fp32, fp16 or bf16) is inf or NaN.
bool AllFinite(std::span<const std::byte> bytes, DType dtype);

/// values[i] = decoded, for values.size() values from the `first` on, times 2^exponent, negated if
/// `negate`.
void DecodeValues(std::span<const std::byte> bytes, ValueType type, int exponent, bool negate,
                  std::size_t first, std::span<float> values);

}  // namespace weir
