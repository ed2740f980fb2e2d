#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weir::cpu {

/// Finds the k-th largest magnitude of a set of numbers exactly, by histograms whose bins
/// divide the range of keys (MagnitudeKey) that is still in question. Keeps its scratch
/// between calls. Not thread-safe.
class RadixSelect {
 public:
  struct Result {
    std::uint32_t key = 0;      ///< MagnitudeKey of the k-th largest.
    std::size_t above = 0;      ///< Number of larger keys; below k.
    std::uint32_t largest = 0;  ///< The largest key of all.
  };

  /// `parts` together hold at least `k` >= 1 numbers.
  Result Select(std::span<const std::span<const float>> parts, std::size_t k);

  /// A key at or below that of the given rank (1 is the largest) in the set of the last
  /// Select, by at most one histogram bin. Costs nothing, unlike a second Select. `rank`
  /// is at most the size of the set.
  std::uint32_t LowerBoundOfRank(std::size_t rank) const;

 private:
  static constexpr int kBits = 11;
  using Histogram = std::array<std::uint32_t, std::size_t{1} << kBits>;
  struct KeyRange {
    std::uint32_t low;
    std::uint32_t high;
    int shift() const;  ///< (key - low) >> shift is the bin.
  };
  struct Bin {
    std::size_t index;
    std::size_t above;  ///< Keys in higher bins.
  };
  Result SelectAmongKeys(std::size_t k, Result so_far);
  static KeyRange RangeOf(std::span<const std::uint32_t> keys);
  static Bin BinOfRank(const Histogram& histogram, std::size_t rank);

  KeyRange first_range_{0, 0};
  Histogram first_{};                ///< Counts the whole set; kept for LowerBoundOfRank.
  std::vector<std::uint32_t> keys_;  ///< Keys still in question.
};

}  // namespace weir::cpu
