#pragma once

#include <cstdint>

namespace weir {

/// Whether the network is a fast one, by what this rank has sent over it while exchanges were under
/// way. On one that is not, large messages should leave at once; on a fast one what they cost the
/// processor counts (ChunkStream::kLargeChunkBytes). Network thread only.
class NetworkSpeed {
 public:
  /// Less than this says nothing: of what is sent, several MiB lie in buffers of this host.
  static constexpr std::uint64_t kLeastBytes = std::uint64_t{32} << 20;
  /// Above a link of 1 Gb/s and those buffers, below what is seen on faster ones.
  static constexpr double kFastBitsPerNs = 1.5;

  /// An exchange starts; `sent_bytes` is how much this rank has sent up to now, of everything.
  void Begin(std::int64_t now_ns, std::uint64_t sent_bytes);
  /// An exchange has ended.
  void End(std::int64_t now_ns, std::uint64_t sent_bytes);

  /// Not before it was measured.
  bool fast() const { return fast_; }

 private:
  int under_way_ = 0;
  std::int64_t from_ns_ = 0;  ///< Since then exchanges were under way without a pause.
  std::uint64_t from_bytes_ = 0;
  bool fast_ = false;
};

}  // namespace weir
