#include "compression/policy.h"

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
          .split = others / ranks * (payload + sums)};
}

Exchange ChooseExchange(const RouteSettings& settings, int senders, std::size_t dense_bytes,
                        std::size_t payload_bytes) {
  if (settings.policy == RoutePolicy::kAlways) return settings.compressed;
  if (settings.policy == RoutePolicy::kNever) return Exchange::kDenseAllreduce;
  const RouteTraffic traffic = TrafficOf(senders, dense_bytes, payload_bytes);
  const bool split = settings.compressed == Exchange::kSplitAllgather;
  const double compressed = split ? traffic.split : traffic.sparse;
  return compressed <= traffic.dense ? settings.compressed : Exchange::kDenseAllreduce;
}

}  // namespace weir
