#include "compression/policy.h"

#include <algorithm>

#include "common/check.h"

namespace weir {

RouteTraffic TrafficOf(int ranks, std::size_t dense_bytes, std::size_t payload_bytes) {
  WEIR_CHECK(ranks >= 1);
  const double others = ranks - 1;
  return {.dense = 2.0 * others / ranks * static_cast<double>(dense_bytes),
          .sparse = others * static_cast<double>(payload_bytes)};
}

Route ChooseRoute(RoutePolicy policy, int ranks, std::size_t dense_bytes,
                  std::size_t payload_bytes) {
  if (policy == RoutePolicy::kAlways) return Route::kSparseAllgather;
  if (policy == RoutePolicy::kNever) return Route::kDenseAllreduce;
  const RouteTraffic traffic = TrafficOf(ranks, dense_bytes, payload_bytes);
  return traffic.sparse <= traffic.dense ? Route::kSparseAllgather : Route::kDenseAllreduce;
}

}  // namespace weir
