#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weir/dtype.h"

/// Adasum in double, entry by entry and level by level.
namespace weir::adasum {

using Values = std::vector<double>;

/// Input of a rank: gradients of different lengths, partly alike.
Values Input(int rank, std::size_t elements, std::uint32_t salt);
/// Returns the same as the type holds it.
std::vector<std::byte> InputBytes(int rank, std::size_t elements, std::uint32_t salt, DType dtype);

/// Returns the exact result, except for the type's rounding, of the inputs times `prescale`.
Values Expected(int ranks, std::size_t elements, std::uint32_t salt, DType dtype,
                double prescale = 1.0, double postscale = 1.0);

/// EXPECTs that `found`, of this type, is close to `expected`.
void ExpectNear(const std::vector<std::byte>& found, const Values& expected, DType dtype);

inline constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16,
                                   DType::kBFloat16};

}  // namespace weir::adasum
