#pragma once

#include <cstddef>
#include <cstdint>

#include "weir/dtype.h"

namespace weir {

/// An array of a rank to be combined with the other ranks', and the memory for the result. `in` and
/// `out` are either the same memory or do not overlap.
struct Array {
  const void* in = nullptr;
  void* out = nullptr;
  std::int64_t elements = 0;
  DType dtype = DType::kFloat32;

  std::size_t bytes() const { return static_cast<std::size_t>(elements) * SizeOf(dtype); }
};

}  // namespace weir
