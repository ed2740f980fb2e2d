#include "coordinator/plan/bucket_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

namespace weir::bucket_layout_test {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

TEST(BucketLayout, EveryTensorIsInExactlyOneBucketAndBucketsInBackwardOrder) {
  std::vector<LayoutTensor> tensors;
  for (int i = 0; i < 200; ++i) tensors.push_back({(i * 37 % 11 + 1) * kMiB / 4, i});
  const BucketLayout layout = LayOutBuckets(tensors, {64 * kMiB});
  std::set<std::uint32_t> seen;
  for (const LaidOutBucket& bucket : layout.buckets) {
    EXPECT_TRUE(std::ranges::is_sorted(bucket.tensors, std::ranges::greater()));
    for (const std::uint32_t tensor : bucket.tensors) EXPECT_TRUE(seen.insert(tensor).second);
  }
  EXPECT_EQ(seen.size(), 200u);
  EXPECT_TRUE(std::ranges::is_sorted(layout.buckets, std::ranges::greater(),
                                     [](const auto& bucket) { return bucket.tensors.front(); }));
}

TEST(BucketLayout, SmallTensorsAreFusedAroundLargeOnesThatStandAlone) {
  const std::vector<LayoutTensor> tensors = {{100, 0}, {200, 0}, {400 * kMiB, 0}, {300, 0}};
  const BucketLayout layout = LayOutBuckets(tensors, {128 * kMiB});
  ASSERT_EQ(layout.buckets.size(), 2u);
  EXPECT_EQ(layout.buckets[0].tensors, (std::vector<std::uint32_t>{3, 1, 0}));
  EXPECT_EQ(layout.buckets[1].tensors, std::vector<std::uint32_t>{2});
}

TEST(BucketLayout, ALayersWeightIsNotFusedWithItsBias) {
  const std::vector<LayoutTensor> tensors = {{64 * kMiB, 0}, {4096, 0}};
  const BucketLayout layout = LayOutBuckets(tensors, {128 * kMiB});
  ASSERT_EQ(layout.buckets.size(), 2u);
  EXPECT_EQ(layout.buckets[1].tensors, std::vector<std::uint32_t>{0});
}

TEST(BucketLayout, NoBucketOfSeveralTensorsExceedsTheFusionThreshold) {
  std::vector<LayoutTensor> tensors(50, {3 * kMiB, 0});
  for (const LaidOutBucket& bucket : LayOutBuckets(tensors, {8 * kMiB}).buckets) {
    EXPECT_LE(bucket.bytes, 8 * kMiB);
    EXPECT_EQ(bucket.bytes, static_cast<std::int64_t>(bucket.tensors.size()) * 3 * kMiB);
  }
}

TEST(BucketLayout, TensorsOfDifferentKindsShareNoBucket) {
  std::vector<LayoutTensor> tensors;
  for (std::size_t i = 0; i < 12; ++i) tensors.push_back({100, 0, i % 3});
  const BucketLayout layout = LayOutBuckets(tensors, {128 * kMiB});
  ASSERT_EQ(layout.buckets.size(), 3u);
  EXPECT_EQ(layout.buckets[0].tensors, (std::vector<std::uint32_t>{11, 8, 5, 2}));
  EXPECT_EQ(layout.buckets[1].tensors, (std::vector<std::uint32_t>{10, 7, 4, 1}));
  EXPECT_EQ(layout.buckets[2].tensors, (std::vector<std::uint32_t>{9, 6, 3, 0}));
}

TEST(BucketLayout, AThresholdOfZeroFusesNothing) {
  for (const bool gathers : {false, true}) {
    const std::vector<LayoutTensor> tensors(5, {.bytes = 4, .gathers = gathers});
    EXPECT_EQ(LayOutBuckets(tensors, {0}).buckets.size(), 5u);
  }
}

TEST(BucketLayout, WhatIsSelectedTogetherFillsItsBuckets) {
  std::vector<LayoutTensor> tensors(20, {.bytes = 3 * kMiB, .kind = 1, .gathers = true});
  tensors[10] = {.bytes = kMiB};  // Another kind.
  const BucketLayout layout = LayOutBuckets(tensors, {64 * kMiB});
  ASSERT_EQ(layout.buckets.size(), 2u);
  EXPECT_EQ(layout.buckets[0].tensors.size(), 19u);
  const BucketLayout in_two = LayOutBuckets(tensors, {32 * kMiB});
  ASSERT_EQ(in_two.buckets.size(), 3u);
  EXPECT_EQ(in_two.buckets[0].tensors.size(), 10u);
}

TEST(BucketLayout, ABucketHasThePriorityOfItsMostUrgentTensor) {
  const std::vector<LayoutTensor> tensors = {{4, 7}, {4, 3}};
  EXPECT_EQ(LayOutBuckets(tensors, {kMiB}).buckets.front().priority, 7);
}

}  // namespace
}  // namespace weir::bucket_layout_test
