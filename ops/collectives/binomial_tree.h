#pragma once

#include <bit>
#include <vector>

namespace weir {

/// Position of a rank in the binomial tree that spreads data from `root` to `size` ranks.
struct TreePosition {
  int parent = -1;            ///< -1 at the root.
  std::vector<int> children;  ///< The one with the largest subtree first.
};

/// Fills `position`, reusing its memory.
inline void FindTreePosition(int rank, int size, int root, TreePosition& position) {
  const auto relative = static_cast<unsigned>((rank - root + size) % size);
  // A rank's parent is the rank without its lowest set bit; children add a bit below that.
  const unsigned lowest =
      relative == 0 ? std::bit_ceil(static_cast<unsigned>(size)) : relative & (0u - relative);
  position.parent =
      relative == 0 ? -1 : static_cast<int>(relative - lowest + static_cast<unsigned>(root)) % size;
  position.children.clear();
  for (unsigned bit = lowest >> 1; bit != 0; bit >>= 1) {
    const unsigned child = relative + bit;
    if (child < static_cast<unsigned>(size)) {
      position.children.push_back(static_cast<int>(child + static_cast<unsigned>(root)) % size);
    }
  }
}

}  // namespace weir
