#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/chunk_stream.h"
#include "ops/collective.h"
#include "ops/transport.h"

namespace weir {

/// Every rank sends every rank bytes of its own.
///
/// Pairwise exchange: at distance d each rank sends to rank() + d and receives from rank() - d, so
/// that no rank is everybody's first. A few distances are under way at once, in the same order on
/// all ranks.
class Alltoall final : public Collective {
 public:
  static constexpr int kDistancesAtOnce = 8;

  explicit Alltoall(Transport& transport);

  /// `in` holds what goes to rank 0, rank 1, ..., send_bytes[r] bytes to rank r; `out` takes what
  /// comes from rank 0, rank 1, ..., receive_bytes[r] from rank r. What a rank sends another is
  /// what that one receives from it. The buffers do not overlap. Throws InvalidArgument when
  /// lengths and buffers contradict each other. Allocates nothing.
  void Bind(std::span<const std::byte> in, std::span<const std::size_t> send_bytes,
            std::span<std::byte> out, std::span<const std::size_t> receive_bytes);

  void Start(std::uint32_t operation) override;
  bool Poll() override;
  void Cancel() override;

 private:
  /// What goes on at one distance.
  struct Exchange {
    ChunkStream send;
    ChunkStream receive;
  };
  void StartDistance(int distance);

  Transport& transport_;
  std::span<const std::byte> in_;
  std::span<std::byte> out_;
  std::vector<std::size_t> in_offsets_;  ///< size() + 1 entries, as are the others.
  std::vector<std::size_t> out_offsets_;
  std::vector<Exchange> exchanges_;  ///< By distance; that of 0 has nothing to do.
  std::uint32_t operation_ = 0;
  int started_ = 0;   ///< Distances up to this one have been started,
  int finished_ = 0;  ///< and up to this one are through.
};

}  // namespace weir
