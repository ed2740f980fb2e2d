#pragma once

#include <span>
#include <vector>

#include "ops/arrays/array.h"
#include "ops/collectives/allreduce.h"
#include "ops/grouped/grouped_collective.h"

namespace weir {

/// Combines arrays of every rank. Small ones of a type are fused into one array,
/// large ones are sent without a copy.
class GroupedAllreduce final : private GroupedCollective {
 public:
  /// Arguments as for an Allreduce.
  explicit GroupedAllreduce(Transport& transport, const HostGrid* grid = nullptr)
      : allreduce_(transport, grid) {}

  /// Sets the chunk size of the next Bind: a multiple of 64, the same on all ranks.
  void set_chunk_bytes(std::size_t bytes) { allreduce_.set_chunk_bytes(bytes); }

  /// Binds a run: start and poll what this returns. Number of elements, types and reduction are the
  /// same on all ranks. Throws InvalidArgument for a reduction that a type does not have.
  [[nodiscard]] Collective& Bind(std::span<const Array> arrays, const Reduction& reduction);

 private:
  Collective& BindArray(std::size_t array) override;
  Collective& BindFused(std::span<const std::size_t> arrays) override;
  void UnpackFused(std::span<const std::size_t> arrays) override;

  Allreduce allreduce_;
  Reduction reduction_;
  std::vector<Array> arrays_;
  std::vector<FusedRuns::Item> items_;
};

}  // namespace weir
