#pragma once

#include <cstddef>
#include <span>

#include "compression/wire/value_type.h"

/// Values of a part in 8, 4 or 2 bits each, scaled by the power of two in its header:
///
/// * kInt8, kInt4: levels -127 to 127, or -7 to 7, of one step, a half: the least whose largest
///   level reaches the largest magnitude.
/// * kInt2: a sign, and a bit that says if the magnitude is above the mean of all; two halves
///   hold the mean magnitude of the lower and of the upper values.
///
/// Step and magnitudes are halves so that decoding never rounds: 11 bits of a step times 7 of a
/// level times a power of two fit a float. Every machine gets the same bits, with a fused
/// multiply-add or without. Pure functions, thread-safe.
namespace weir {

/// 0 for no values.
std::size_t LowBitBytes(std::size_t count, ValueType type);

/// Writes value * 2^-exponent (ScaleExponent in compression/wire/value_coding.h), rounded, and
/// replaces each value by its decoded value. Too large values saturate. NaN counts as 0, and kInt2
/// sends any 0 as one of the lower magnitudes.
void EncodeLowBit(std::span<float> values, ValueType type, int exponent, std::byte* out);

/// Throws Corrupt unless EncodeLowBit could have written the bytes for so many values.
void CheckLowBit(std::span<const std::byte> bytes, std::size_t count, ValueType type);

/// values[i] = decoded * factor, for values.size() values from the `first` on, of checked bytes.
/// The factor is a power of two, or its negative.
void DecodeLowBit(std::span<const std::byte> bytes, ValueType type, float factor, std::size_t first,
                  std::span<float> values);

}  // namespace weir
