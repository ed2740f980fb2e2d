#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

/// The tree in which the squares of a tensor are added up, so that CPU and GPU get the same bits
/// for any number of threads: 16 running sums a block of kNormBlock entries, a tree over those, a
/// tree over the blocks of each of 64 subtrees, and a tree over these.
namespace weir {

inline constexpr std::size_t kNormBlock = 4096;
/// Running sums of a block: sum j takes the entries j, j + 16, j + 32, ...
inline constexpr std::size_t kNormSums = 16;
/// Subtrees that threads share out. Constant: the tree must not depend on the number of threads.
inline constexpr std::size_t kNormSubtrees = 64;

/// Adds up sums[0], ..., sums[kCount - 1], a power of two.
template <std::size_t kCount>
constexpr double NormTree(double* sums) {
  for (std::size_t width = kCount / 2; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) sums[i] += sums[i + width];
  }
  return sums[0];
}

/// Entries of a subtree of n, a power of two.
inline std::size_t NormSubtreeSpan(std::size_t n) {
  return std::max(std::bit_ceil(n) / kNormSubtrees, kNormBlock);
}

/// Sums the node of `count` entries from `begin` on, of at most `span`, a power of two;
/// block(begin, count) sums one block.
template <typename Block>
double NormSubtree(std::size_t begin, std::size_t count, std::size_t span, const Block& block) {
  if (span <= kNormBlock || count <= kNormBlock) return block(begin, count);
  const std::size_t half = span / 2;
  if (count <= half) return NormSubtree(begin, count, half, block);
  return NormSubtree(begin, half, half, block) +
         NormSubtree(begin + half, count - half, half, block);
}

/// Sums all of n entries. `for_each(count, one)` calls one(i) for each of
/// 0, ..., count - 1, in any order.
template <typename Block, typename ForEach>
double SquaredNormTree(std::size_t n, const Block& block, const ForEach& for_each) {
  const std::size_t span = NormSubtreeSpan(n);
  std::array<double, kNormSubtrees> sums{};
  for_each((n + span - 1) / span, [&](std::size_t part) {
    const std::size_t begin = part * span;
    sums[part] = NormSubtree(begin, std::min(span, n - begin), span, block);
  });
  return NormTree<kNormSubtrees>(sums.data());
}

}  // namespace weir
