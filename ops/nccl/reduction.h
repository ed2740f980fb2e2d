#pragma once

#include <optional>

#include "ops/arrays/reduce.h"
#include "ops/nccl/api.h"
#include "weir/dtype.h"

namespace weir::nccl {

/// True if NCCL reduces as Weir promises (ops/arrays/reduce.h), except for the order of
/// floating-point additions and the rounding of fp16 and bf16 on the way.
///
/// Does not hold for minimum and maximum of floating-point numbers (NCCL drops NaN), averages and
/// scales of integers (its sums wrap first), int16 at all, and Adasum.
bool Suits(DType dtype, const Reduction& reduction);

/// NCCL's form of a reduction that suits it.
struct NativeReduction {
  DataType type;
  RedOp op;
  /// Factor on every rank's values before they are added.
  std::optional<double> factor;
};
NativeReduction NativeOf(DType dtype, const Reduction& reduction, int ranks);

}  // namespace weir::nccl
