#include "coordinator/plan/bucket_layout.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace weir {
namespace {

constexpr std::int64_t kLeastBucketBytes = std::int64_t{1} << 20;
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
constexpr std::int64_t kBucketsWanted = 8;

std::int64_t TargetBytes(std::span<const LayoutTensor> tensors, const LayoutSettings& settings) {
  const std::int64_t total =
      std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0},
                      [](std::int64_t sum, const LayoutTensor& t) { return sum + t.bytes; });
  return std::min(std::max(total / kBucketsWanted, kLeastBucketBytes),
                  settings.fusion_threshold_bytes);
}

}  // namespace

BucketLayout LayOutBuckets(std::span<const LayoutTensor> tensors, const LayoutSettings& settings) {
  const std::int64_t target = TargetBytes(tensors, settings);
  const std::int64_t most = std::max(settings.fusion_threshold_bytes, std::int64_t{0});
  BucketLayout layout;
  std::map<std::size_t, std::size_t> open_of;  // By kind: the bucket that small tensors join.
  for (std::size_t i = tensors.size(); i-- > 0;) {
    const LayoutTensor& tensor = tensors[i];
    std::size_t& open = open_of.try_emplace(tensor.kind, kNone).first->second;
    const std::int64_t enough = tensor.gathers ? most : target;
    const bool alone = tensor.bytes >= enough;
    const bool joins = !alone && open != kNone && layout.buckets[open].bytes + tensor.bytes <= most;
    const std::size_t at = joins ? open : layout.buckets.size();
    if (!joins) layout.buckets.push_back({{}, 0, tensor.priority});
    LaidOutBucket& bucket = layout.buckets[at];
    bucket.tensors.push_back(static_cast<std::uint32_t>(i));
    bucket.bytes += tensor.bytes;
    bucket.priority = std::max(bucket.priority, tensor.priority);
    if (!alone) open = bucket.bytes < enough ? at : kNone;
  }
  return layout;
}

}  // namespace weir
