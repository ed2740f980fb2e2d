#pragma once

#include <cstddef>
#include <cstdint>
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
/// carries fewer bytes, but for kHostAllgather and what is asynchronous (max_staleness).
enum class RoutePolicy { kAuto, kAlways, kNever };

/// What a user asks for (the options "policy", "route", "partition_bytes",
/// "max_staleness" and "host_values").
struct RouteSettings {
  RoutePolicy policy = RoutePolicy::kAuto;
  Exchange compressed = Exchange::kSparseAllgather;  ///< The way of what is compressed.
  /// A tensor of more is compressed and exchanged in several parts.
  std::size_t partition_elements = std::numeric_limits<std::size_t>::max();
  /// kPushPull: ranks do not wait for each other, but get no more than so many steps ahead; 0: they
  /// do.
  std::int64_t max_staleness = 0;
  /// kPushPull: the servers are no ranks.
  bool dedicated_servers = false;
  /// kHostAllgather: a host's ranks average their gradients in fp16.
  bool halves_inside = false;
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
  double dedicated = 0;  ///< Push to servers that are no ranks: payload_bytes.
};
RouteTraffic TrafficOf(int ranks, std::size_t dense_bytes, std::size_t payload_bytes);

/// Pure, equal on all ranks for equal arguments. `dense_bytes` is the uncompressed size of the
/// bucket, `payload_bytes` one compressed frame at this step's density. A tie, and one rank (which
/// sends nothing), go to settings.compressed; so does kAuto from host to host, and where ranks do
/// not wait for each other.
Exchange ChooseExchange(const RouteSettings& settings, int ranks, std::size_t dense_bytes,
                        std::size_t payload_bytes);

}  // namespace weir
