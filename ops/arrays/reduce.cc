// Plain loops, compiled once per instruction set by Highway's foreach_target and vectorised by the
// compiler.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/arrays/reduce.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h, as Highway requires.
#include <hwy/highway.h>

#include "ops/arrays/reduce_kernels-inl.h"

#if HWY_ONCE

#include <cmath>
#include <string>

#include "common/check.h"
#include "ops/arrays/reduce.h"
#include "weir/error.h"

namespace weir {

HWY_EXPORT(ReduceAnyType);

void CheckReduction(DType dtype, const Reduction& reduction) {
  const bool scaled = reduction.prescale != 1.0 || reduction.postscale != 1.0;
  const auto op = static_cast<int>(reduction.op);
  if (op > static_cast<int>(ReduceOp::kProduct)) {
    throw InvalidArgument("a reduction has no operation number " + std::to_string(op) +
                          "; there are average, sum, adasum, min, max and product");
  }
  if (reduction.op == ReduceOp::kAdasum) {
    throw InvalidArgument("Adasum combines whole tensors, and only in an all-reduce");
  }
  if (dtype == DType::kBool && (scaled || reduction.op == ReduceOp::kAverage)) {
    throw InvalidArgument(
        "a reduction of bool has no average and no scale factors; use sum (or) "
        "or product (and), or convert to an integer type first");
  }
  if (!std::isfinite(reduction.prescale) || !std::isfinite(reduction.postscale)) {
    throw InvalidArgument("the scale factors of a reduction must be finite, not " +
                          std::to_string(reduction.prescale) + " before and " +
                          std::to_string(reduction.postscale) + " after");
  }
}

void Reduce(DType dtype, const Reduction& reduction, std::span<const std::byte* const> sources,
            std::size_t elements, std::byte* out) {
  WEIR_CHECK(!sources.empty());
  HWY_DYNAMIC_DISPATCH(ReduceAnyType)(dtype, reduction, sources, sources.size(), elements, out);
}

void ReduceAlone(DType dtype, const Reduction& reduction, std::size_t ranks,
                 std::span<std::byte> values) {
  const std::byte* const source = values.data();
  HWY_DYNAMIC_DISPATCH(ReduceAnyType)
  (dtype, reduction, std::span(&source, 1), ranks, values.size() / SizeOf(dtype), values.data());
}

}  // namespace weir

#endif  // HWY_ONCE
