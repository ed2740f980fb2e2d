#include "ops/grouped/grouped_reduce_scatter.h"

#include <cstring>
#include <string>

#include "weir/error.h"

namespace weir {

void GroupedReduceScatter::Bind(std::span<const Array> arrays, std::span<const std::size_t> offsets,
                                const Reduction& reduction) {
  if (offsets.size() != arrays.size() * borders_) {
    throw InvalidArgument("a grouped reduce-scatter of " + std::to_string(arrays.size()) +
                          " arrays was given " + std::to_string(offsets.size()) +
                          " borders of parts; give " + std::to_string(borders_) + " per array");
  }
  for (const Array& array : arrays) CheckReduction(array.dtype, reduction);
  reduction_ = reduction;
  arrays_.assign(arrays.begin(), arrays.end());
  offsets_.assign(offsets.begin(), offsets.end());
  items_.clear();
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    scatter_.CheckOffsets(OffsetsOf(i), static_cast<std::size_t>(arrays[i].elements));
    items_.push_back({.bytes = arrays[i].bytes(), .kind = static_cast<int>(arrays[i].dtype)});
  }
  Plan(items_);
}

std::size_t GroupedReduceScatter::PartBegin(std::size_t array, std::size_t rank) const {
  return OffsetsOf(array)[rank] * SizeOf(arrays_[array].dtype);
}

std::size_t GroupedReduceScatter::PartBytes(std::size_t array, std::size_t rank) const {
  return PartBegin(array, rank + 1) - PartBegin(array, rank);
}

Collective& GroupedReduceScatter::BindArray(std::size_t array) {
  const Array& a = arrays_[array];
  scatter_.Bind({.in = static_cast<const std::byte*>(a.in),
                 .out = static_cast<std::byte*>(a.out),
                 .elements = static_cast<std::size_t>(a.elements),
                 .dtype = a.dtype,
                 .reduction = reduction_},
                OffsetsOf(array));
  return scatter_;
}

Collective& GroupedReduceScatter::BindFused(std::span<const std::size_t> arrays) {
  const DType dtype = arrays_[arrays.front()].dtype;
  std::size_t bytes = 0;
  for (const std::size_t i : arrays) bytes += arrays_[i].bytes();
  std::byte* const fused = ResizeFused(bytes).data();
  std::byte* at = fused;
  fused_offsets_.assign(1, 0);
  for (std::size_t r = 0; r + 1 < borders_; ++r) {
    for (const std::size_t i : arrays) {
      const std::size_t part = PartBytes(i, r);
      std::memcpy(at, static_cast<const std::byte*>(arrays_[i].in) + PartBegin(i, r), part);
      at += part;
    }
    fused_offsets_.push_back(static_cast<std::size_t>(at - fused) / SizeOf(dtype));
  }
  // The result is stored in place of this rank's values.
  scatter_.Bind({.in = fused,
                 .out = fused + fused_offsets_[self_] * SizeOf(dtype),
                 .elements = fused_offsets_.back(),
                 .dtype = dtype,
                 .reduction = reduction_},
                fused_offsets_);
  return scatter_;
}

void GroupedReduceScatter::UnpackFused(std::span<const std::size_t> arrays) {
  const DType dtype = arrays_[arrays.front()].dtype;
  const std::byte* at = fused().data() + fused_offsets_[self_] * SizeOf(dtype);
  for (const std::size_t i : arrays) {
    const std::size_t part = PartBytes(i, self_);
    if (part > 0) std::memcpy(arrays_[i].out, at, part);
    at += part;
  }
}

}  // namespace weir
