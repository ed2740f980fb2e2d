#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/arrays/reduce.h"
#include "ops/collectives/collective.h"
#include "ops/collectives/reduce_scatter.h"
#include "ops/transport/chunk_stream.h"
#include "ops/transport/transport.h"

namespace weir {

/// All-reduce of a large array: a reduce-scatter and a direct
/// all-gather, overlapped chunk by chunk.
///
/// Rank r owns the r-th part of the array. It sends each chunk of it to all ranks as soon as it is
/// reduced. Only the network copies. Scratch: that of the reduce-scatter.
class ChunkedAllreduce final : public Collective {
 public:
  explicit ChunkedAllreduce(Transport& transport);

  /// Sets the chunk size of the next Bind: a multiple of 64, the same on all ranks.
  void set_chunk_bytes(std::size_t bytes) { reduce_.set_chunk_bytes(bytes); }
  void Bind(const ReduceTask& task);

  void Start(std::uint32_t operation) override;
  bool Poll() override;
  void Limit(std::size_t bytes) override { reduce_.Limit(bytes); }
  std::size_t posted_bytes() const override;
  void Cancel() override;

 private:
  /// Messages between this rank and another, after the reduction.
  struct Peer {
    int rank = -1;
    ChunkStream results_from;  ///< The reduced values of its part.
    ChunkStream results_to;    ///< The reduced values of my part.
  };
  bool PollResults();
  /// Returns a rank's part of the output.
  std::span<std::byte> PartOf(int rank) const;

  Transport& transport_;
  ReduceScatter reduce_;
  ReduceTask task_;
  std::vector<std::size_t> offsets_;  ///< Begins of the parts, in elements; size() + 1 entries.
  std::vector<Peer> peers_;           ///< In the order rank() + 1, rank() + 2, ...
  std::size_t first_to_send_ = 0;     ///< As ReduceScatter's, of results.
};

}  // namespace weir
