#include "ops/grouped/sparse_allreduce.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace weir {

void SparseAllreduce::Bind(const GatheredArray& indices, const GatheredArray& values,
                           std::span<const std::size_t> bytes, DType dtype,
                           const Reduction& reduction) {
  CheckReduction(dtype, reduction);
  std::array arrays = {indices, values};
  gather_.Bind(arrays, bytes);
  const bool as_they_are =
      reduction.op == ReduceOp::kSum && reduction.prescale == 1.0 && reduction.postscale == 1.0;
  if (as_they_are) return;
  // The input must not change: values are scaled at their place in the result, and sent from there.
  const auto before = bytes.subspan(ranks_, self_);
  const auto own = values.out.subspan(std::accumulate(before.begin(), before.end(), std::size_t{0}),
                                      values.in.size());
  std::ranges::copy(values.in, own.begin());
  ReduceAlone(dtype, reduction, ranks_, own);
  arrays[1].in = own;
  gather_.Bind(arrays, bytes);
}

}  // namespace weir
