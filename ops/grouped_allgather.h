#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ops/allgather.h"
#include "ops/grouped_collective.h"

namespace weir {

/// Concatenates arrays of every rank, each with its like. Small results are gathered as one,
/// whatever their types.
class GroupedAllgather final : public GroupedCollective {
 public:
  /// As for an Allgather.
  explicit GroupedAllgather(Transport& transport, const HostGrid* grid = nullptr)
      : GroupedCollective(allgather_),
        ranks_(static_cast<std::size_t>(transport.size())),
        self_(static_cast<std::size_t>(transport.rank())),
        allgather_(transport, grid) {}

  struct Item {
    std::span<const std::byte> in;
    std::span<std::byte> out;
  };
  /// `bytes[i * size() + r]` is what rank r contributes to item i, the same on all ranks; for each
  /// item as Allgather::Bind says. Throws InvalidArgument when the lengths contradict each other.
  void Bind(std::span<const Item> items, std::span<const std::size_t> bytes);

 private:
  /// What each rank contributes to an item.
  std::span<const std::size_t> BytesOf(std::size_t item) const {
    return std::span(bytes_).subspan(item * ranks_, ranks_);
  }
  void BindArray(std::size_t item) override;
  void BindFused(std::span<const std::size_t> items) override;
  void UnpackFused(std::span<const std::size_t> items) override;

  const std::size_t ranks_;
  const std::size_t self_;
  Allgather allgather_;
  std::vector<Item> items_;
  std::vector<std::size_t> bytes_;
  std::vector<FusedRuns::Item> sizes_;
  std::vector<std::size_t> fused_bytes_;  ///< What each rank contributes to a fused run.
  std::vector<std::byte*> places_;        ///< Where its next part goes, in each item's result.
};

}  // namespace weir
