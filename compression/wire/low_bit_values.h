#pragma once

#include <cstddef>
#include <span>

#include "compression/wire/value_type.h"

/// Values of a part in 8, 4 or 2 bits each, beside the power of two that its header takes out:
///
/// * kInt8, kInt4: levels -127 to 127, or -7 to 7, of one step, a half: the least whose largest
///   level reaches the largest magnitude.
/// * kInt2: a sign, and whether the magnitude is above the mean of all; two halves say what the
///   magnitudes not above and above it are on average.
///
/// Step and magnitudes are halves so that nothing that is decoded was rounded: 11 bits of a step
/// times 7 of a level times a power of two is a float as it is. Every machine gets the same bits,
/// with a fused multiply-add or without. Pure functions, thread-safe.
namespace weir {

/// None for no values.
std::size_t LowBitBytes(std::size_t count, ValueType type);

/// Writes value * 2^-exponent (ScaleExponent in compression/wire/value_coding.h), rounded, and
/// replaces each value by what a receiver decodes. What is too large saturates. NaN counts as 0,
/// which in kInt2 is, as any 0, one of the lower magnitudes.
void EncodeLowBit(std::span<float> values, ValueType type, int exponent, std::byte* out);

/// Throws Corrupt unless EncodeLowBit could have written the bytes for so many values.
void CheckLowBit(std::span<const std::byte> bytes, std::size_t count, ValueType type);

/// values[i] = decoded * factor, for values.size() values from the `first` on, of bytes that were
/// checked. The factor is a power of two, or its negative.
void DecodeLowBit(std::span<const std::byte> bytes, ValueType type, float factor, std::size_t first,
                  std::span<float> values);

}  // namespace weir
