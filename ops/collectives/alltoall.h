#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/collectives/collective.h"
#include "ops/transport/chunk_stream.h"
#include "ops/transport/transport.h"

namespace weir {

/// Sends different bytes from every rank to every rank.
///
/// Pairwise exchange: at distance d each rank sends to rank() + d and receives from
/// rank() - d, so that no rank is everybody's first. A few distances are under way at
/// once, in the same order on all ranks.
class Alltoall final : public Collective {
 public:
  static constexpr int kDistancesAtOnce = 8;

  explicit Alltoall(Transport& transport);

  /// `in` holds send_bytes[r] bytes for each rank r, in rank order; `out` takes
  /// receive_bytes[r] bytes from each rank r. Both ends of a pair give the same length. The
  /// buffers do not overlap. Throws InvalidArgument when lengths and buffers contradict
  /// each other. Allocates nothing.
  void Bind(std::span<const std::byte> in, std::span<const std::size_t> send_bytes,
            std::span<std::byte> out, std::span<const std::size_t> receive_bytes);

  void Start(std::uint32_t operation) override;
  bool Poll() override;
  void Cancel() override;

 private:
  /// The exchange at one distance.
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
  std::vector<Exchange> exchanges_;  ///< By distance; the one of 0 is unused.
  std::uint32_t operation_ = 0;
  int started_ = 0;   ///< Distances up to this one have been started,
  int finished_ = 0;  ///< and up to this one are done.
};

}  // namespace weir
