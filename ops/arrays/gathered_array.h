#pragma once

#include <cstddef>
#include <span>

namespace weir {

/// A rank's contribution to a gathered array, and the memory for all ranks'. `in` may be at its
/// place in `out`, otherwise they do not overlap.
struct GatheredArray {
  std::span<const std::byte> in;
  std::span<std::byte> out;
};

}  // namespace weir
