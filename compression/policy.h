#pragma once

#include <cstddef>

namespace weir {

/// How a bucket's bytes travel.
enum class Route { kDenseAllreduce, kSparseAllgather };

/// Whether compressing is worth it: kAlways and kNever do as they say, kAuto takes the route that
/// carries fewer bytes.
enum class RoutePolicy { kAuto, kAlways, kNever };

/// Bytes that one rank sends (and receives) for one bucket.
struct RouteTraffic {
  double dense = 0;   ///< Ring all-reduce: 2 (N - 1) / N * dense_bytes.
  double sparse = 0;  ///< All-gather: (N - 1) * payload_bytes.
};
RouteTraffic TrafficOf(int ranks, std::size_t dense_bytes, std::size_t payload_bytes);

/// Pure, equal on all ranks for equal arguments. `dense_bytes` is the uncompressed size of the
/// bucket, `payload_bytes` one rank's compressed frame at this step's density. A tie, and one rank
/// (which sends nothing), go to kSparseAllgather.
Route ChooseRoute(RoutePolicy policy, int ranks, std::size_t dense_bytes,
                  std::size_t payload_bytes);

}  // namespace weir
