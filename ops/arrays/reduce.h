#pragma once

#include <cstddef>
#include <span>

#include "weir/dtype.h"

namespace weir {

/// The function of all-reduce and reduce-scatter: postscale * (prescale * x0 op prescale * x1 op
/// ...), for kAverage divided by the number of ranks.
struct Reduction {
  ReduceOp op = ReduceOp::kSum;
  double prescale = 1.0;
  double postscale = 1.0;
};

/// Throws InvalidArgument when `reduction` has no meaning for `dtype`: kAverage or a scale on bool,
/// a scale that is not finite, kAdasum (not an entry-by-entry operation: ops/collectives/adasum.h).
void CheckReduction(DType dtype, const Reduction& reduction);

/// out[i] = the reduction of sources[0][i], sources[1][i], ..., combined in exactly this order, so
/// that the bits depend on the values alone. Thread-safe, allocates nothing.
///
/// * fp16 and bf16 are scaled and combined in fp32 and rounded once, at the end.
/// * Integers are combined exactly in a wider type (int64 wraps) and wrap when stored, so an
///   average never overflows. A scale works in double and truncates toward zero, saturating at
///   the type's limits.
///   kAverage truncates toward zero.
/// * kMin and kMax give NaN when any value is NaN.
/// * On bool kSum and kMax are "or", kProduct and kMin are "and".
///
/// `out` may be one of the sources; otherwise it overlaps none of them. All are aligned to the
/// type.
void Reduce(DType dtype, const Reduction& reduction, std::span<const std::byte* const> sources,
            std::size_t elements, std::byte* out);

/// Computes in place what Reduce gives if all values but one rank's, `values`, are zero, up to the
/// sign of a zero. For kAverage and kSum.
void ReduceAlone(DType dtype, const Reduction& reduction, std::size_t ranks,
                 std::span<std::byte> values);

/// The buffers and the arithmetic of one reduction on one rank. `in` and `out` are the same memory
/// or do not overlap.
struct ReduceTask {
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  std::size_t elements = 0;
  DType dtype = DType::kFloat32;
  Reduction reduction;

  std::size_t bytes() const { return elements * SizeOf(dtype); }
};

}  // namespace weir
