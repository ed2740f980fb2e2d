#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace weir {

/// Plans which arrays of a group are exchanged together: small ones share a run, large ones have
/// one each. Depends only on the items, so ranks with equal items get equal runs. Not thread-safe.
class FusedRuns {
 public:
  /// Larger arrays are not copied.
  static constexpr std::size_t kSmallBytes = std::size_t{64} << 10;
  /// Most bytes fused: small enough for the cache between the copies.
  static constexpr std::size_t kFusedBytes = std::size_t{1} << 20;

  /// An array: the most bytes of it that a rank sends, and a key that
  /// all arrays of a run must share.
  struct Item {
    std::size_t bytes = 0;
    int kind = 0;
  };
  /// Items without bytes are in no run. Allocates only for more items than ever before.
  void Plan(std::span<const Item> items);

  std::size_t size() const { return runs_.size(); }
  /// Returns the items of run `i`, by their index, ascending.
  std::span<const std::size_t> operator[](std::size_t i) const;

 private:
  struct Run {
    int kind = 0;
    bool open = false;  ///< Takes more small items.
    std::size_t bytes = 0;
    std::size_t count = 0;
    std::size_t end = 0;  ///< End of its items in order_.
  };
  std::size_t RunFor(const Item& item);

  std::vector<Run> runs_;
  std::vector<std::size_t> run_of_;  ///< By item.
  std::vector<std::size_t> order_;   ///< The items, run by run.
};

}  // namespace weir
