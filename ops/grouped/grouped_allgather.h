#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ops/arrays/gathered_array.h"
#include "ops/collectives/allgather.h"
#include "ops/grouped/grouped_collective.h"

namespace weir {

/// Concatenates each of several arrays over all ranks. Arrays of which every rank has little are
/// gathered as one, whatever their types.
class GroupedAllgather final : public GroupedCollective {
 public:
  /// Arguments as for an Allgather.
  explicit GroupedAllgather(Transport& transport, const HostGrid* grid = nullptr)
      : ranks_(static_cast<std::size_t>(transport.size())),
        self_(static_cast<std::size_t>(transport.rank())),
        allgather_(transport, grid) {}

  /// `bytes[i * size() + r]` is the length of rank r's part of array i, the same on all ranks; each
  /// array as in Allgather::Bind. Throws InvalidArgument when the lengths contradict each other.
  void Bind(std::span<const GatheredArray> arrays, std::span<const std::size_t> bytes);

 private:
  /// Returns the length of each rank's contribution to an array.
  std::span<const std::size_t> BytesOf(std::size_t array) const {
    return std::span(bytes_).subspan(array * ranks_, ranks_);
  }
  Collective& BindArray(std::size_t array) override;
  Collective& BindFused(std::span<const std::size_t> arrays) override;
  void UnpackFused(std::span<const std::size_t> arrays) override;

  const std::size_t ranks_;
  const std::size_t self_;
  Allgather allgather_;
  std::vector<GatheredArray> arrays_;
  std::vector<std::size_t> bytes_;
  std::vector<FusedRuns::Item> plan_;
  std::vector<std::size_t> fused_bytes_;  ///< Length of each rank's contribution to a fused run.
  std::vector<std::byte*> places_;        ///< Place of its next part, in each result.
};

}  // namespace weir
