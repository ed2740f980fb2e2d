#pragma once

#include <cstdint>
#include <span>

/// The conversions of common/half.h over arrays, with SIMD chosen at run time and the same bits.
/// Input and output have equal length and do not overlap. Pure functions, thread-safe.
namespace weir {

void HalvesToFloats(std::span<const std::uint16_t> halves, std::span<float> floats);
void FloatsToHalves(std::span<const float> floats, std::span<std::uint16_t> halves);
void BFloat16sToFloats(std::span<const std::uint16_t> bfloat16s, std::span<float> floats);
void FloatsToBFloat16s(std::span<const float> floats, std::span<std::uint16_t> bfloat16s);

}  // namespace weir
