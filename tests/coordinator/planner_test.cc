#include "coordinator/planner.h"

#include <gtest/gtest.h>

#include <set>

namespace weir {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

TEST(Planner, EveryTensorIsInExactlyOneBucketInBackwardOrder) {
  std::vector<PlanTensor> tensors;
  for (int i = 0; i < 200; ++i) tensors.push_back({(i * 37 % 11 + 1) * kMiB / 4, i});
  const Plan plan = MakePlan(tensors, {64 * kMiB});
  std::uint32_t expected = 200;
  for (const PlannedBucket& bucket : plan.buckets) {
    for (const std::uint32_t tensor : bucket.tensors) EXPECT_EQ(tensor, --expected);
  }
  EXPECT_EQ(expected, 0u);
}

TEST(Planner, SmallTensorsAreFusedAndLargeOnesStandAlone) {
  const std::vector<PlanTensor> tensors = {{100, 0}, {200, 0}, {400 * kMiB, 0}, {300, 0}};
  const Plan plan = MakePlan(tensors, {128 * kMiB});
  ASSERT_EQ(plan.buckets.size(), 3u);
  EXPECT_EQ(plan.buckets[1].tensors, std::vector<std::uint32_t>{2});
  EXPECT_EQ(plan.buckets[2].tensors, (std::vector<std::uint32_t>{1, 0}));
}

TEST(Planner, NoBucketOfSeveralTensorsExceedsTheFusionThreshold) {
  std::vector<PlanTensor> tensors(50, {3 * kMiB, 0});
  for (const PlannedBucket& bucket : MakePlan(tensors, {8 * kMiB}).buckets) {
    EXPECT_LE(bucket.bytes, 8 * kMiB);
    EXPECT_EQ(bucket.bytes, static_cast<std::int64_t>(bucket.tensors.size()) * 3 * kMiB);
  }
}

TEST(Planner, AThresholdOfZeroFusesNothing) {
  const std::vector<PlanTensor> tensors(5, {4, 0});
  EXPECT_EQ(MakePlan(tensors, {0}).buckets.size(), 5u);
}

TEST(Planner, ABucketHasThePriorityOfItsMostUrgentTensor) {
  const std::vector<PlanTensor> tensors = {{4, 7}, {4, 3}};
  EXPECT_EQ(MakePlan(tensors, {kMiB}).buckets.front().priority, 7);
}

}  // namespace
}  // namespace weir
