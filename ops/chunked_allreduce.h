#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ops/chunk_stream.h"
#include "ops/collective.h"
#include "ops/pending.h"
#include "ops/reduce.h"
#include "ops/transport.h"

namespace weir {

/// All-reduce of a large array: a direct reduce-scatter and all-gather, overlapped chunk by chunk.
///
/// Rank r owns the r-th part of the array. It receives everybody's chunks of that part into
/// scratch, reduces each with its own straight into the output, and sends the result to all.
/// Nothing is copied but by the network. Scratch: ChunkStream::kInFlight * (size() - 1) chunks,
/// kept for the next run.
class ChunkedAllreduce final : public Collective {
 public:
  /// `chunk_bytes` is a multiple of 64, the same on all ranks.
  explicit ChunkedAllreduce(Transport& transport,
                            std::size_t chunk_bytes = ChunkStream::kDefaultChunkBytes);

  void Bind(const ReduceTask& task);

  void Start(std::uint32_t operation) override;
  bool Poll() override;
  void Cancel() override;

 private:
  /// What goes on between this rank and another.
  struct Peer {
    int rank = -1;
    ChunkStream pieces_to;                                    ///< My values of its part.
    ChunkStream results_from;                                 ///< The reduced values of its part.
    ChunkStream results_to;                                   ///< The reduced values of my part.
    std::array<Pending, ChunkStream::kInFlight> pieces_from;  ///< Its values of my part.
  };
  /// A range of the array, in elements.
  struct Range {
    std::size_t begin = 0;
    std::size_t count = 0;
  };
  Range PartOf(int rank) const;
  Range OwnChunk(std::size_t chunk) const;
  std::byte* Scratch(std::size_t peer, std::size_t chunk) const;
  void StartStreams(Peer& peer);
  void ReceivePieces(std::size_t chunk);
  bool PiecesArrived();
  void ReduceChunk();

  Transport& transport_;
  std::size_t chunk_bytes_;
  ReduceTask task_;
  std::vector<Peer>
      peers_;  ///< In the order rank() + 1, rank() + 2, ...: no one is everybody's first.
  std::unique_ptr<std::byte[]> scratch_;
  std::size_t scratch_chunk_bytes_ = 0;
  std::vector<const std::byte*> sources_;
  std::uint32_t operation_ = 0;
  std::size_t chunks_ = 0;   ///< Of my part.
  std::size_t reduced_ = 0;  ///< Chunks reduced so far.
};

}  // namespace weir
