#include "monitor_gui/run/layer_buckets.h"

namespace weir::monitor {

std::set<std::uint32_t> BucketsOf(const RankRun& rank, const QString& layer) {
  std::set<std::uint32_t> buckets;
  for (const auto& [number, info] : rank.names()) {
    if (info.elements == 0 || info.name != layer) continue;
    // The gradients of a bucket have the numbers just before its own.
    std::uint32_t bucket = number + 1;
    while (rank.names().contains(bucket) && rank.NameOf(bucket).elements > 0) ++bucket;
    if (rank.names().contains(bucket)) buckets.insert(bucket);
  }
  return buckets;
}

}  // namespace weir::monitor
