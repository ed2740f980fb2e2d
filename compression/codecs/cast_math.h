#pragma once

#include <bit>
#include <cstdint>

#include "common/half.h"
#include "compression/wire/value_coding.h"
#include "weir/dtype.h"

/// Arithmetic of CastCodec's 16-bit types on single numbers, for the CPU and for kernels.
namespace weir {

inline constexpr float kLargestBFloat16 = std::bit_cast<float>(0x7f7f0000u);

/// Casts to fp16 or bf16; too large values saturate.
constexpr std::uint16_t Narrowed(float value, DType dtype) {
  return dtype == DType::kFloat16 ? FloatToHalf(Saturated(value, kLargestHalf))
                                  : FloatToBFloat16(Saturated(value, kLargestBFloat16));
}
constexpr float Widened(std::uint16_t word, DType dtype) {
  return dtype == DType::kFloat16 ? HalfToFloat(word) : BFloat16ToFloat(word);
}

}  // namespace weir
