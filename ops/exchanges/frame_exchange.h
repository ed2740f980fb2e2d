#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ops/collectives/collective.h"
#include "ops/transport/pending.h"
#include "ops/transport/transport.h"

namespace weir {

/// Sends a frame from every rank to every other, the same one or one for each. Receivers learn its
/// length only when it arrives: this is the exchange of compressed buckets. Frames go directly, so
/// each crosses once. Some pairs may have nothing to send, which both ends know (Pairs).
class FrameExchange final : public Collective {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 30;

  /// Frames have at most `max_frame_bytes` bytes, the same number on all ranks, at most kMostBytes.
  /// Reserves (size() - 1) times as much address space; pages are used as frames arrive.
  FrameExchange(Transport& transport, std::size_t max_frame_bytes);

  /// Pairs of ranks with a frame, as seen from this rank; by rank, its own place unused.
  struct Pairs {
    std::vector<bool> to;
    std::vector<bool> from;
  };
  FrameExchange(Transport& transport, std::size_t max_frame_bytes, Pairs pairs);

  /// Binds one frame for all (an all-gather). It must not change until the run is over, nor while
  /// frames() is in use. Throws InvalidArgument when it is longer than max_frame_bytes.
  void Bind(std::span<const std::byte> frame);
  /// Binds frames[r] for rank r, this one included (an all-to-all); otherwise as Bind.
  void BindEach(std::span<const std::span<const std::byte>> frames);

  void Start(std::uint32_t operation) override;
  /// Throws Corrupt when a peer's frame is longer than max_frame_bytes.
  bool Poll() override;
  void Cancel() override;

  std::size_t max_frame_bytes() const { return max_frame_bytes_; }
  /// Frames for this rank in rank order, after completion. Its own is the bound one; a rank that
  /// sends it none has an empty one. Valid until the next Start.
  std::span<const std::span<const std::byte>> frames() const { return frames_; }

 private:
  void Bind(std::size_t rank, std::span<const std::byte> frame);
  std::byte* Slot(std::size_t peer);

  Transport& transport_;
  std::size_t max_frame_bytes_;
  Pairs pairs_;
  std::vector<std::size_t> slots_;  ///< Place of each rank's frame in the scratch memory.
  std::unique_ptr<std::byte[]> scratch_;
  std::vector<std::span<const std::byte>> outgoing_;  ///< By rank.
  std::vector<std::span<const std::byte>> frames_;
  std::vector<Pending> sends_;  ///< By rank, this one's unused.
  std::vector<Pending> receives_;
};

}  // namespace weir
