#pragma once

#include <cstddef>
#include <span>

namespace weir {

/// What a rank contributes to an array that is gathered, and what all ranks' go to. `in` may lie at
/// its place in `out`, otherwise they do not overlap.
struct GatheredArray {
  std::span<const std::byte> in;
  std::span<std::byte> out;
};

}  // namespace weir
