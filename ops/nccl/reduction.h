#pragma once

#include <optional>

#include "ops/nccl/api.h"
#include "ops/reduce.h"
#include "weir/dtype.h"

namespace weir::nccl {

/// Whether NCCL reduces as Weir promises (ops/reduce.h), but for the order in which floating-point
/// numbers are added, and fp16 and bf16 rounded on the way.
///
/// It does not: least and greatest of floating-point numbers (it drops NaN), averages and scales of
/// integers (its sums wrap first), int16 at all, Adasum.
bool Suits(DType dtype, const Reduction& reduction);

/// How NCCL is asked for one that suits.
struct NativeReduction {
  DataType type;
  RedOp op;
  /// Every rank's values are multiplied by this before they are added.
  std::optional<double> factor;
};
NativeReduction NativeOf(DType dtype, const Reduction& reduction, int ranks);

}  // namespace weir::nccl
