#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace weir {

/// Which arrays of a group travel together: small ones share a run, large ones have one each. It
/// depends only on what is planned, so ranks that plan alike have the same runs. Not thread-safe.
class FusedRuns {
 public:
  /// Larger arrays are not copied.
  static constexpr std::size_t kSmallBytes = std::size_t{64} << 10;
  /// What is fused at most: small enough for the cache between the copies.
  static constexpr std::size_t kFusedBytes = std::size_t{1} << 20;

  /// Bytes of an array that a rank sends at most, and what only arrays that travel together have in
  /// common.
  struct Item {
    std::size_t bytes = 0;
    int kind = 0;
  };
  /// Items without bytes are in no run. Allocates only when there is more than there ever was.
  void Plan(std::span<const Item> items);

  std::size_t size() const { return runs_.size(); }
  /// The items of run `i`, by their index, ascending.
  std::span<const std::size_t> operator[](std::size_t i) const;

 private:
  struct Run {
    int kind = 0;
    bool open = false;  ///< For more small items.
    std::size_t bytes = 0;
    std::size_t count = 0;
    std::size_t end = 0;  ///< In order_.
  };
  std::size_t RunFor(const Item& item);

  std::vector<Run> runs_;
  std::vector<std::size_t> run_of_;  ///< By item.
  std::vector<std::size_t> order_;   ///< The items, run by run.
};

}  // namespace weir
