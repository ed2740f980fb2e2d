#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace weir {

/// The route of a bucket's bytes. kHostAllgather is kSparseAllgather of one frame a host, kPushPull
/// goes to servers that add up and answer.
enum class WireRoute {
  kDenseAllreduce,
  kSparseAllgather,
  kSplitAllgather,
  kHostAllgather,
  kPushPull
};

/// Use of compression: kAlways and kNever as named; kAuto takes the route that carries fewer bytes,
/// except with kHostAllgather and asynchronous training (max_staleness).
enum class RoutePolicy { kAuto, kAlways, kNever };

/// The user's choice of a route (the options "policy", "route", "partition_bytes",
/// "max_staleness" and "host_values").
struct RouteSettings {
  RoutePolicy policy = RoutePolicy::kAuto;
  WireRoute compressed = WireRoute::kSparseAllgather;  ///< Route of compressed tensors.
  /// A larger tensor is compressed and exchanged in several parts.
  std::size_t partition_elements = std::numeric_limits<std::size_t>::max();
  /// kPushPull: ranks do not wait for each other, but get at most so
  /// many steps ahead; 0: they wait.
  std::int64_t max_staleness = 0;
  /// kPushPull: the servers are not ranks.
  bool dedicated_servers = false;
  /// kHostAllgather: a host's ranks average their gradients in fp16.
  bool halves_inside = false;
};

/// Bytes that one rank sends for one bucket.
struct RouteTraffic {
  double dense = 0;   ///< Ring all-reduce: 2 (N - 1) / N * dense_bytes.
  double sparse = 0;  ///< All-gather: (N - 1) * payload_bytes.
  /// Split all-gather at most, if no two ranks send the same entry: (N - 1) / N * (payload_bytes +
  /// sums), the sums being N payloads with fp32 values, and no longer than the dense bucket.
  double split = 0;
  /// Push and pull with ranks as the servers and answers as long as payloads:
  /// 2 (N - 1) / N * payload_bytes.
  double push_pull = 0;
  double dedicated = 0;  ///< Push to dedicated servers: payload_bytes.
};
RouteTraffic TrafficOf(int ranks, std::size_t dense_bytes, std::size_t payload_bytes);

/// Pure, equal on all ranks for equal arguments. `dense_bytes` is the uncompressed size of the
/// bucket, `payload_bytes` one compressed frame at this step's density. Returns
/// settings.compressed for a tie, for one rank (which sends nothing), for kAuto with
/// kHostAllgather, and where ranks do not wait for each other.
WireRoute ChooseWireRoute(const RouteSettings& settings, int ranks, std::size_t dense_bytes,
                          std::size_t payload_bytes);

}  // namespace weir
