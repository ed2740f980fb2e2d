#pragma once

#include <cstddef>
#include <limits>

namespace weir {

/// How a bucket's bytes travel: kHostAllgather is kSparseAllgather of one frame a host, kPushPull
/// to servers that add up and back.
enum class Exchange {
  kDenseAllreduce,
  kSparseAllgather,
  kSplitAllgather,
  kHostAllgather,
  kPushPull
};

/// Whether compressing is worth it: kAlways and kNever do as they say, kAuto takes the route that
/// carries fewer bytes, but for kHostAllgather.
enum class RoutePolicy { kAuto, kAlways, kNever };

/// What a user asks for (the options "policy", "route" and "partition_bytes").
struct RouteSettings {
  RoutePolicy policy = RoutePolicy::kAuto;
  Exchange compressed = Exchange::kSparseAllgather;  ///< The way of what is compressed.
  /// A tensor of more is compressed and exchanged in several parts.
  std::size_t partition_elements = std::numeric_limits<std::size_t>::max();
};

/// Bytes that one rank sends for one bucket.
struct RouteTraffic {
  double dense = 0;   ///< Ring all-reduce: 2 (N - 1) / N * dense_bytes.
  double sparse = 0;  ///< All-gather: (N - 1) * payload_bytes.
  /// Split all-gather at most, where no two ranks send the same entry: (N - 1) / N * (payload_bytes
  /// + sums), the sums being N payloads with fp32 values, and no longer than the dense bucket.
  double split = 0;
  /// Push and pull, the ranks being the servers and an answer as long as a payload:
  /// 2 (N - 1) / N * payload_bytes.
  double push_pull = 0;
};
RouteTraffic TrafficOf(int ranks, std::size_t dense_bytes, std::size_t payload_bytes);

/// Pure, equal on all ranks for equal arguments. `dense_bytes` is the uncompressed size of the
/// bucket, `payload_bytes` one compressed frame at this step's density. A tie, and one rank (which
/// sends nothing), go to settings.compressed; so does kAuto from host to host.
Exchange ChooseExchange(const RouteSettings& settings, int ranks, std::size_t dense_bytes,
                        std::size_t payload_bytes);

}  // namespace weir
