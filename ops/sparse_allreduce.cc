#include "ops/sparse_allreduce.h"

#include <array>

namespace weir {

void SparseAllreduce::Bind(const Item& indices, const Item& values,
                           std::span<const std::size_t> bytes, DType dtype,
                           const Reduction& reduction) {
  CheckReduction(dtype, reduction);
  const std::array items = {indices, values};
  gather_.Bind(items, bytes);
  values_ = values.out;
  dtype_ = dtype;
  reduction_ = reduction;
}

void SparseAllreduce::Start(std::uint32_t operation) {
  scaled_ = false;
  gather_.Start(operation);
}

bool SparseAllreduce::Poll() {
  if (!gather_.Poll()) return false;
  if (!scaled_) ReduceAlone(dtype_, reduction_, ranks_, values_);
  scaled_ = true;
  return true;
}

}  // namespace weir
