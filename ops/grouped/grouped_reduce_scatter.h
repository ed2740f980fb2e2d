#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ops/arrays/array.h"
#include "ops/collectives/reduce_scatter.h"
#include "ops/grouped/grouped_collective.h"

namespace weir {

/// Combines arrays of every rank and leaves each rank a part of each of them. Small ones of a type
/// are fused, rank by rank, into one array whose parts are theirs.
class GroupedReduceScatter final : public GroupedCollective {
 public:
  explicit GroupedReduceScatter(Transport& transport)
      : borders_(static_cast<std::size_t>(transport.size()) + 1),
        self_(static_cast<std::size_t>(transport.rank())),
        scatter_(transport) {}

  /// Sets the chunk size of the next Bind: a multiple of 64, the same on all ranks.
  void set_chunk_bytes(std::size_t bytes) { scatter_.set_chunk_bytes(bytes); }

  /// `offsets` are those of ReduceScatter::Bind, size() + 1 for each array; an array's `out` takes
  /// this rank's part alone. Everything but the memory is the same on all ranks. Throws
  /// InvalidArgument for other offsets and for a reduction that a type does not have.
  void Bind(std::span<const Array> arrays, std::span<const std::size_t> offsets,
            const Reduction& reduction);

 private:
  std::span<const std::size_t> OffsetsOf(std::size_t array) const {
    return std::span(offsets_).subspan(array * borders_, borders_);
  }
  /// Begin and length, in bytes, of rank r's part of an array.
  std::size_t PartBegin(std::size_t array, std::size_t rank) const;
  std::size_t PartBytes(std::size_t array, std::size_t rank) const;
  Collective& BindArray(std::size_t array) override;
  Collective& BindFused(std::span<const std::size_t> arrays) override;
  void UnpackFused(std::span<const std::size_t> arrays) override;

  const std::size_t borders_;  ///< Borders of the ranks' parts: one more than ranks.
  const std::size_t self_;
  ReduceScatter scatter_;
  Reduction reduction_;
  std::vector<Array> arrays_;
  std::vector<std::size_t> offsets_;
  std::vector<FusedRuns::Item> items_;
  std::vector<std::size_t> fused_offsets_;
};

}  // namespace weir
