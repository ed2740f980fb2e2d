#pragma once

#include <cstddef>

namespace weir {

/// How a bucket's bytes travel: kHostAllgather is kSparseAllgather of one frame a host.
enum class Exchange { kDenseAllreduce, kSparseAllgather, kSplitAllgather, kHostAllgather };

/// Whether compressing is worth it: kAlways and kNever do as they say, kAuto takes the route that
/// carries fewer bytes.
enum class RoutePolicy { kAuto, kAlways, kNever };

/// What a user asks for (the options "policy" and "route").
struct RouteSettings {
  RoutePolicy policy = RoutePolicy::kAuto;
  Exchange compressed = Exchange::kSparseAllgather;  ///< The way of what is compressed.
};

/// Bytes that one rank sends for one bucket.
struct RouteTraffic {
  double dense = 0;   ///< Ring all-reduce: 2 (N - 1) / N * dense_bytes.
  double sparse = 0;  ///< All-gather: (N - 1) * payload_bytes.
  /// Split all-gather at most, where no two ranks send the same entry: (N - 1) / N * (payload_bytes
  /// + sums), the sums being N payloads with fp32 values, and no longer than the dense bucket.
  double split = 0;
};
RouteTraffic TrafficOf(int ranks, std::size_t dense_bytes, std::size_t payload_bytes);

/// Pure, equal on all ranks for equal arguments. `senders` are the ranks, or the hosts where a
/// frame is a host's. `dense_bytes` is the uncompressed size of the
/// bucket, `payload_bytes` one compressed frame at this step's density. A tie, and one sender
/// (which sends nothing), go to settings.compressed.
Exchange ChooseExchange(const RouteSettings& settings, int senders, std::size_t dense_bytes,
                        std::size_t payload_bytes);

}  // namespace weir
