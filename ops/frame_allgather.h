#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ops/collective.h"
#include "ops/pending.h"
#include "ops/transport.h"

namespace weir {

/// Every rank contributes one frame whose length the others learn only when it arrives: the
/// exchange of compressed buckets. Every rank sends straight to every other, so a frame crosses
/// once.
class FrameAllgather final : public Collective {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 30;

  /// Frames have at most `max_frame_bytes` bytes, the same number on all ranks, at most kMostBytes.
  /// Reserves (size() - 1) times as much address space; pages are used as frames arrive.
  FrameAllgather(Transport& transport, std::size_t max_frame_bytes);

  /// `frame` stays as it is until the run is over and as long as frames() is in use.
  /// Throws InvalidArgument when it is longer than max_frame_bytes.
  void Bind(std::span<const std::byte> frame);

  void Start(std::uint32_t operation) override;
  /// Throws Corrupt when a peer's frame is longer than max_frame_bytes.
  bool Poll() override;
  void Cancel() override;

  std::size_t max_frame_bytes() const { return max_frame_bytes_; }
  /// After completion: the frames in rank order, this rank's own is the bound one. Valid until the
  /// next Start.
  std::span<const std::span<const std::byte>> frames() const { return frames_; }

 private:
  std::byte* Slot(int peer);

  Transport& transport_;
  std::size_t max_frame_bytes_;
  std::span<const std::byte> frame_;
  std::unique_ptr<std::byte[]> scratch_;
  std::vector<std::span<const std::byte>> frames_;
  std::vector<Pending> sends_;  ///< By rank, this one's unused.
  std::vector<Pending> receives_;
};

}  // namespace weir
