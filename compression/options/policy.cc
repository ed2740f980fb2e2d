#include "compression/options/policy.h"

#include <algorithm>

#include "common/check.h"

namespace weir {

RouteTraffic TrafficOf(int ranks, std::size_t dense_bytes, std::size_t payload_bytes) {
  WEIR_CHECK(ranks >= 1);
  const double others = ranks - 1;
  const auto dense = static_cast<double>(dense_bytes);
  const auto payload = static_cast<double>(payload_bytes);
  const double sums = std::min(2.0 * ranks * payload, dense);
  return {.dense = 2.0 * others / ranks * dense,
          .sparse = others * payload,
          .split = others / ranks * (payload + sums),
          .push_pull = 2.0 * others / ranks * payload,
          .dedicated = payload};
}

namespace {

double BytesOf(const RouteSettings& settings, const RouteTraffic& traffic) {
  switch (settings.compressed) {
    case WireRoute::kSplitAllgather:
      return traffic.split;
    case WireRoute::kPushPull:
      return settings.dedicated_servers ? traffic.dedicated : traffic.push_pull;
    default:
      return traffic.sparse;
  }
}

}  // namespace

WireRoute ChooseWireRoute(const RouteSettings& settings, int ranks, std::size_t dense_bytes,
                          std::size_t payload_bytes) {
  if (settings.policy == RoutePolicy::kAlways) return settings.compressed;
  if (settings.policy == RoutePolicy::kNever) return WireRoute::kDenseAllreduce;
  // A host's first rank keeps its unsent entries there, every rank its own elsewhere: a route that
  // changed would leave some behind. An all-reduce would make ranks wait for each other.
  if (settings.compressed == WireRoute::kHostAllgather || settings.max_staleness > 0) {
    return settings.compressed;
  }
  const RouteTraffic traffic = TrafficOf(ranks, dense_bytes, payload_bytes);
  const bool one_rank = ranks == 1;
  return one_rank || BytesOf(settings, traffic) <= traffic.dense ? settings.compressed
                                                                 : WireRoute::kDenseAllreduce;
}

}  // namespace weir
