#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compression/sparse_payload.h"
#include "weir/dtype.h"

/// Values of a part, as fp32 or as fp16 with one power of two taken out. Pure functions,
/// thread-safe.
namespace weir {

/// Exponents a part may name: every half times 2^e is then a finite float, without rounding.
inline constexpr int kMinScaleExponent = -125;
inline constexpr int kMaxScaleExponent = 112;

constexpr std::size_t BytesOf(ValueType type) { return type == ValueType::kFloat16 ? 2 : 4; }

/// The e for which the largest finite |value| * 2^-e lies in [2^15, 2^16), the upper end of fp16,
/// within the limits above. 0 for fp32.
int ScaleExponent(std::span<const float> values, ValueType type);

/// Writes value * 2^-exponent, rounded to nearest even, and replaces each value by what a receiver
/// decodes. What is too large for the type, inf included, saturates; NaN is written as 0.
void EncodeValues(std::span<float> values, ValueType type, int exponent, std::byte* out);

constexpr DType DTypeOf(ValueType type) {
  return type == ValueType::kFloat16 ? DType::kFloat16 : DType::kFloat32;
}

/// No inf and no NaN among encoded values of a type: fp32, fp16 or bf16.
bool AllFinite(std::span<const std::byte> bytes, DType dtype);

/// values[i] = decoded, for values.size() values from the `first` on, times 2^exponent, negated if
/// `negate`.
void DecodeValues(std::span<const std::byte> bytes, ValueType type, int exponent, bool negate,
                  std::size_t first, std::span<float> values);

}  // namespace weir
