#pragma once

#include <cstdint>

namespace weir {

/// Whether the network between hosts is a fast one, by what this rank has sent over it while
/// exchanges were under way. On one that is not, large messages should leave at once; on a fast one
/// what they cost the processor counts (ChunkStream::kLargeChunkBytes). Network thread only.
class NetworkSpeed {
 public:
  struct Bounds {
    /// Less than this says nothing: of what is sent, some MiB lie in buffers of this host.
    std::uint64_t least_bytes = std::uint64_t{32} << 20;
    /// Above a link of 1 Gb/s and those buffers, below what is seen on faster ones.
    double fast_bits_per_ns = 1.5;
  };

  NetworkSpeed() = default;
  explicit NetworkSpeed(const Bounds& bounds) : bounds_(bounds) {}

  /// An exchange starts; `sent_bytes` is how much this rank has sent to other hosts up to now.
  void Begin(std::int64_t now_ns, std::uint64_t sent_bytes);
  /// An exchange has ended.
  void End(std::int64_t now_ns, std::uint64_t sent_bytes);

  /// Not before it was measured.
  bool fast() const { return fast_; }

 private:
  const Bounds bounds_;
  int under_way_ = 0;
  std::int64_t from_ns_ = 0;  ///< What was sent before is counted, or was sent without exchanges.
  std::uint64_t from_bytes_ = 0;
  std::int64_t ns_ = 0;  ///< Since the last verdict, with exchanges under way.
  std::uint64_t bytes_ = 0;
  bool fast_ = false;
};

}  // namespace weir
