#include "compression/options/policy.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Policy, TrafficFollowsTheTwoFormulas) {
  const RouteTraffic traffic = TrafficOf(4, 1000, 10);
  EXPECT_DOUBLE_EQ(traffic.dense, 1500.0);
  EXPECT_DOUBLE_EQ(traffic.sparse, 30.0);
  EXPECT_DOUBLE_EQ(traffic.split, 0.75 * (10 + 80));
  EXPECT_DOUBLE_EQ(TrafficOf(4, 1000, 900).split, 0.75 * (900 + 1000));  // Sums are no longer.
}

/// At b bytes a pair both carry the same at the density 8 / (b N): just below it sparse wins, just
/// above dense.
TEST(Policy, RoutesCrossWhereBothCarryTheSame) {
  constexpr double kPairBytes = 3.49;
  constexpr std::size_t kElements = 10'000'000;
  for (int ranks : {8, 32, 128, 512}) {
    const double crossover = 8.0 / (kPairBytes * ranks);
    const auto payload = [crossover](double factor) {
      return static_cast<std::size_t>(factor * crossover * kElements * kPairBytes);
    };
    EXPECT_EQ(ChooseWireRoute({RoutePolicy::kAuto}, ranks, 4 * kElements, payload(0.99)),
              WireRoute::kSparseAllgather);
    EXPECT_EQ(ChooseWireRoute({RoutePolicy::kAuto}, ranks, 4 * kElements, payload(1.01)),
              WireRoute::kDenseAllreduce);
  }
}

/// 75 % sparsity on 32 ranks, 8 bytes a pair: 32 times the traffic of dense in all-gather is more
/// than dense; 99.9 % is far less.
TEST(Policy, WarmupOnManyRanksTravelsDense) {
  EXPECT_EQ(ChooseWireRoute({RoutePolicy::kAuto}, 32, 4'000'000, 2'000'000),
            WireRoute::kDenseAllreduce);
  EXPECT_EQ(ChooseWireRoute({RoutePolicy::kAuto}, 32, 4'000'000, 8'000),
            WireRoute::kSparseAllgather);
}

TEST(Policy, AlwaysAndNeverMeanWhatTheySay) {
  EXPECT_EQ(ChooseWireRoute({RoutePolicy::kAlways}, 1000, 4, 4000), WireRoute::kSparseAllgather);
  EXPECT_EQ(ChooseWireRoute({RoutePolicy::kNever}, 2, 4000, 4), WireRoute::kDenseAllreduce);
}

TEST(Policy, WhatIsCompressedGoesAsItIsAskedTo) {
  const RouteSettings split{RoutePolicy::kAuto, WireRoute::kSplitAllgather};
  EXPECT_EQ(ChooseWireRoute(split, 64, 4'000'000, 100'000), WireRoute::kSplitAllgather);
  // A gather carries 63 of these, more than the dense bucket.
  EXPECT_EQ(ChooseWireRoute({RoutePolicy::kAuto}, 64, 4'000'000, 200'000),
            WireRoute::kDenseAllreduce);
  EXPECT_EQ(ChooseWireRoute(split, 64, 4'000'000, 200'000), WireRoute::kSplitAllgather);
  EXPECT_EQ(ChooseWireRoute(split, 64, 4'000'000, 4'000'001), WireRoute::kDenseAllreduce);
  EXPECT_EQ(ChooseWireRoute({RoutePolicy::kNever, WireRoute::kSplitAllgather}, 2, 4000, 4),
            WireRoute::kDenseAllreduce);
}

TEST(Policy, ServersTakeAPayloadAndGiveOne) {
  EXPECT_DOUBLE_EQ(TrafficOf(4, 4000, 100).push_pull, 150.0);
  const RouteSettings push_pull{RoutePolicy::kAuto, WireRoute::kPushPull};
  EXPECT_EQ(ChooseWireRoute(push_pull, 64, 4'000'000, 4'000'000), WireRoute::kPushPull);
  EXPECT_EQ(ChooseWireRoute(push_pull, 64, 4'000'000, 4'000'001), WireRoute::kDenseAllreduce);
}

TEST(Policy, FromHostToHostTheRouteStays) {
  const RouteSettings hosts{RoutePolicy::kAuto, WireRoute::kHostAllgather};
  EXPECT_EQ(ChooseWireRoute(hosts, 64, 4'000'000, 4'000'001), WireRoute::kHostAllgather);
  EXPECT_EQ(ChooseWireRoute({RoutePolicy::kNever, WireRoute::kHostAllgather}, 2, 4000, 4),
            WireRoute::kDenseAllreduce);
}

TEST(Policy, OneRankCompressesWithoutTraffic) {
  EXPECT_EQ(TrafficOf(1, 1000, 1000).dense, 0.0);
  EXPECT_EQ(TrafficOf(1, 1000, 1000).sparse, 0.0);
  EXPECT_EQ(ChooseWireRoute({RoutePolicy::kAuto}, 1, 1000, 1000), WireRoute::kSparseAllgather);
}

}  // namespace
}  // namespace weir
