#pragma once

#include <cstdint>

namespace weir {

/// Measures whether the network between hosts is fast, by what this rank has sent over it while
/// exchanges were under way. On a slow network, large messages should leave at once; on a fast one,
/// their cost for the processor counts (ChunkStream::kLargeChunkBytes). Network thread only.
class NetworkSpeed {
 public:
  struct Bounds {
    /// Least bytes for a verdict: of what is sent, some MiB lie in buffers of this host.
    std::uint64_t least_bytes = std::uint64_t{32} << 20;
    /// Least speed of a fast network: above a link of 1 Gb/s with those buffers, below faster ones.
    double fast_bits_per_ns = 1.5;
  };

  NetworkSpeed() = default;
  explicit NetworkSpeed(const Bounds& bounds) : bounds_(bounds) {}

  /// Notes the start of an exchange. `sent_bytes` is this rank's total to other hosts up to now.
  void Begin(std::int64_t now_ns, std::uint64_t sent_bytes);
  /// Notes the end of an exchange.
  void End(std::int64_t now_ns, std::uint64_t sent_bytes);

  /// True if the network is fast; false before it was measured.
  bool fast() const { return fast_; }

 private:
  const Bounds bounds_;
  int under_way_ = 0;
  std::int64_t from_ns_ = 0;  ///< Start of the time that is not counted yet.
  std::uint64_t from_bytes_ = 0;
  std::int64_t ns_ = 0;  ///< Time with exchanges under way, since the last verdict.
  std::uint64_t bytes_ = 0;
  bool fast_ = false;
};

}  // namespace weir
