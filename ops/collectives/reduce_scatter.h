#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ops/arrays/reduce.h"
#include "ops/collectives/collective.h"
#include "ops/transport/chunk_stream.h"
#include "ops/transport/pending.h"
#include "ops/transport/transport.h"

namespace weir {

/// Divides an array into parts of about the same length, each of which starts at a multiple of 64
/// bytes: their borders, in elements, one more than there are parts. The last parts may be empty.
void AlignedParts(std::size_t elements, DType dtype, std::span<std::size_t> offsets);

/// Combines the same-shaped array of every rank and leaves each rank one part of the result.
///
/// Every rank receives the others' chunks of its part into scratch and reduces each with
/// its own directly into the output, in rank order: a part has the bits of a flat
/// all-reduce. Only the network copies. Scratch: ChunkStream::kInFlight * (size() - 1)
/// chunks, kept for the next run.
class ReduceScatter final : public Collective {
 public:
  /// Kind of its messages (ChunkStream::Options); code built on this may use the other kind.
  static constexpr std::uint32_t kMessageKind = 0;

  explicit ReduceScatter(Transport& transport);

  /// Sets the chunk size of the next Bind: a multiple of 64, the same on all ranks.
  void set_chunk_bytes(std::size_t bytes);
  std::size_t chunk_bytes() const { return chunk_bytes_; }

  /// Throws InvalidArgument unless `offsets` divide that many elements among size() ranks.
  void CheckOffsets(std::span<const std::size_t> offsets, std::size_t elements) const;

  /// Rank r's part is the elements offsets[r] up to offsets[r + 1] of `task.in`; offsets are size()
  /// + 1 ascending numbers from 0 to task.elements. `task.out` takes this rank's part alone; it is
  /// that part's place in `task.in` or overlaps nothing of it. Offsets, type and reduction are the
  /// same on all ranks. Throws InvalidArgument for other offsets and for a reduction that the type
  /// does not have. Allocates only when the scratch has to grow.
  void Bind(const ReduceTask& task, std::span<const std::size_t> offsets);

  void Start(std::uint32_t operation) override;
  bool Poll() override;
  void Limit(std::size_t bytes) override { limit_ = bytes; }
  /// Returns what may still be posted where so many bytes are.
  std::size_t CreditBehind(std::size_t posted) const { return limit_ - std::min(limit_, posted); }
  std::size_t posted_bytes() const override;
  void Cancel() override;

  /// The two halves of Poll, for callers with work after each chunk. This one reduces the next
  /// chunk if it has come, and returns if it did; the other moves messages, true once it is done.
  bool ReduceNext();
  bool PollSends();

  /// Progress of the run: bytes from the start of this rank's part that are reduced,
  std::size_t reduced_bytes() const;
  /// and bytes from the start of another rank's part that have left this one's input.
  std::size_t sent_bytes(int rank) const;

 private:
  /// Messages between this rank and another.
  struct Peer {
    int rank = -1;
    ChunkStream pieces_to;                                    ///< My values of its part.
    std::array<Pending, ChunkStream::kInFlight> pieces_from;  ///< Its values of my part.
  };
  std::size_t part_bytes(int rank) const;
  std::size_t ChunkBytes(std::size_t chunk) const;
  std::byte* Scratch(std::size_t peer, std::size_t chunk) const;
  void ReceivePieces(std::size_t chunk);
  bool PiecesArrived();
  void ReduceChunk();

  Transport& transport_;
  std::size_t chunk_bytes_ = ChunkStream::kDefaultChunkBytes;
  ReduceTask task_;
  std::vector<std::size_t> offsets_;
  /// In the order rank() + 1, rank() + 2, ...: no rank is everybody's first.
  std::vector<Peer> peers_;
  std::unique_ptr<std::byte[]> scratch_;
  std::size_t scratch_chunk_bytes_ = 0;
  std::vector<const std::byte*> sources_;
  std::uint32_t operation_ = 0;
  std::size_t limit_ = kUnlimited;
  /// Index of the peer that a small credit goes to next. A rank reduces what all others have sent.
  std::size_t first_to_send_ = 0;
  std::size_t chunks_ = 0;   ///< Chunks of my part.
  std::size_t reduced_ = 0;  ///< Chunks reduced so far.
};

}  // namespace weir
