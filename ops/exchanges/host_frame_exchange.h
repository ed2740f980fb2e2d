#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ops/collectives/collective.h"
#include "ops/collectives/host_grid.h"
#include "ops/exchanges/frame_exchange.h"
#include "ops/transport/pending.h"
#include "ops/transport/subset_transport.h"

namespace weir {

/// Sends one frame per host to every rank. The first rank of each host sends its frame to the first
/// ranks of the others and hands all frames on to the ranks beside it, so a frame crosses once
/// between two hosts. The second half of a hierarchical exchange of compressed buckets.
class HostFrameExchange final : public Collective {
 public:
  /// Takes part in an operation on `transport`, whose ranks are those of the grid. Frames have at
  /// most `max_frame_bytes` bytes, the same number on all ranks, at most FrameExchange::kMostBytes.
  HostFrameExchange(Transport& transport, const HostGrid& grid, std::size_t max_frame_bytes);

  std::size_t max_frame_bytes() const { return max_frame_bytes_; }
  /// Binds this rank's frame; used on the first rank of a host only. As FrameExchange::Bind.
  void Bind(std::span<const std::byte> frame);

  void Start(std::uint32_t operation) override;
  bool Poll() override;
  void Cancel() override;

  /// The frames by host, after completion. Valid until the next Start.
  std::span<const std::span<const std::byte>> frames() const { return frames_; }

 private:
  void HandOn();

  const std::size_t max_frame_bytes_;
  SubsetTransport local_network_;
  std::optional<SubsetTransport> first_ranks_;  ///< On a first rank: the other first ranks.
  std::optional<FrameExchange> exchange_;
  std::unique_ptr<std::byte[]> scratch_;  ///< On any other rank: received frames.
  std::vector<std::span<const std::byte>> frames_;
  std::vector<Pending> local_;  ///< Sends by rank on the host, then host; or receives by host.
  std::uint32_t operation_ = 0;
  bool handed_on_ = true;
};

}  // namespace weir
