#include "ops/grouped/grouped_allreduce.h"

#include <cstring>

namespace weir {

Collective& GroupedAllreduce::Bind(std::span<const Array> arrays, const Reduction& reduction) {
  for (const Array& array : arrays) CheckReduction(array.dtype, reduction);
  reduction_ = reduction;
  arrays_.assign(arrays.begin(), arrays.end());
  if (arrays_.size() == 1 && arrays_.front().elements > 0) return BindArray(0);  // Nothing to plan.
  items_.clear();
  for (const Array& array : arrays) {
    items_.push_back({.bytes = array.bytes(), .kind = static_cast<int>(array.dtype)});
  }
  Plan(items_);
  return *this;
}

Collective& GroupedAllreduce::BindArray(std::size_t array) {
  const Array& a = arrays_[array];
  return allreduce_.Bind(a.in, a.out, a.elements, a.dtype, reduction_);
}

Collective& GroupedAllreduce::BindFused(std::span<const std::size_t> arrays) {
  const DType dtype = arrays_[arrays.front()].dtype;
  std::size_t bytes = 0;
  for (const std::size_t i : arrays) bytes += arrays_[i].bytes();
  std::byte* const fused = ResizeFused(bytes).data();
  std::byte* at = fused;
  for (const std::size_t i : arrays) {
    std::memcpy(at, arrays_[i].in, arrays_[i].bytes());
    at += arrays_[i].bytes();
  }
  return allreduce_.Bind(fused, fused, static_cast<std::int64_t>(bytes / SizeOf(dtype)), dtype,
                         reduction_);
}

void GroupedAllreduce::UnpackFused(std::span<const std::size_t> arrays) {
  const std::byte* at = fused().data();
  for (const std::size_t i : arrays) {
    std::memcpy(arrays_[i].out, at, arrays_[i].bytes());
    at += arrays_[i].bytes();
  }
}

}  // namespace weir
