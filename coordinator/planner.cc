#include "coordinator/planner.h"

#include <algorithm>
#include <numeric>

namespace weir {
namespace {

constexpr std::int64_t kLeastBucketBytes = std::int64_t{1} << 20;
constexpr std::int64_t kBucketsWanted = 8;

std::int64_t TargetBytes(std::span<const PlanTensor> tensors, const PlanSettings& settings) {
  const std::int64_t total =
      std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0},
                      [](std::int64_t sum, const PlanTensor& t) { return sum + t.bytes; });
  return std::min(std::max(total / kBucketsWanted, kLeastBucketBytes),
                  settings.fusion_threshold_bytes);
}

}  // namespace

Plan MakePlan(std::span<const PlanTensor> tensors, const PlanSettings& settings) {
  const std::int64_t target = TargetBytes(tensors, settings);
  Plan plan;
  bool open = false;
  for (std::size_t i = tensors.size(); i-- > 0;) {
    const PlanTensor& tensor = tensors[i];
    const bool fits = open && plan.buckets.back().bytes + tensor.bytes <=
                                  std::max(settings.fusion_threshold_bytes, std::int64_t{0});
    if (!fits) plan.buckets.push_back({{}, 0, tensor.priority});
    PlannedBucket& bucket = plan.buckets.back();
    bucket.tensors.push_back(static_cast<std::uint32_t>(i));
    bucket.bytes += tensor.bytes;
    bucket.priority = std::max(bucket.priority, tensor.priority);
    open = bucket.bytes < target;
  }
  return plan;
}

}  // namespace weir
