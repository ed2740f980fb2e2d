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
    EXPECT_EQ(ChooseExchange({RoutePolicy::kAuto}, ranks, 4 * kElements, payload(0.99)),
              Exchange::kSparseAllgather);
    EXPECT_EQ(ChooseExchange({RoutePolicy::kAuto}, ranks, 4 * kElements, payload(1.01)),
              Exchange::kDenseAllreduce);
  }
}

/// 75 % sparsity on 32 ranks, 8 bytes a pair: 32 times the traffic of dense in all-gather is more
/// than dense; 99.9 % is far less.
TEST(Policy, WarmupOnManyRanksTravelsDense) {
  EXPECT_EQ(ChooseExchange({RoutePolicy::kAuto}, 32, 4'000'000, 2'000'000),
            Exchange::kDenseAllreduce);
  EXPECT_EQ(ChooseExchange({RoutePolicy::kAuto}, 32, 4'000'000, 8'000), Exchange::kSparseAllgather);
}

TEST(Policy, AlwaysAndNeverMeanWhatTheySay) {
  EXPECT_EQ(ChooseExchange({RoutePolicy::kAlways}, 1000, 4, 4000), Exchange::kSparseAllgather);
  EXPECT_EQ(ChooseExchange({RoutePolicy::kNever}, 2, 4000, 4), Exchange::kDenseAllreduce);
}

TEST(Policy, WhatIsCompressedGoesAsItIsAskedTo) {
  const RouteSettings split{RoutePolicy::kAuto, Exchange::kSplitAllgather};
  EXPECT_EQ(ChooseExchange(split, 64, 4'000'000, 100'000), Exchange::kSplitAllgather);
  // A gather carries 63 of these, more than the dense bucket.
  EXPECT_EQ(ChooseExchange({RoutePolicy::kAuto}, 64, 4'000'000, 200'000),
            Exchange::kDenseAllreduce);
  EXPECT_EQ(ChooseExchange(split, 64, 4'000'000, 200'000), Exchange::kSplitAllgather);
  EXPECT_EQ(ChooseExchange(split, 64, 4'000'000, 4'000'001), Exchange::kDenseAllreduce);
  EXPECT_EQ(ChooseExchange({RoutePolicy::kNever, Exchange::kSplitAllgather}, 2, 4000, 4),
            Exchange::kDenseAllreduce);
}

TEST(Policy, ServersTakeAPayloadAndGiveOne) {
  EXPECT_DOUBLE_EQ(TrafficOf(4, 4000, 100).push_pull, 150.0);
  const RouteSettings push_pull{RoutePolicy::kAuto, Exchange::kPushPull};
  EXPECT_EQ(ChooseExchange(push_pull, 64, 4'000'000, 4'000'000), Exchange::kPushPull);
  EXPECT_EQ(ChooseExchange(push_pull, 64, 4'000'000, 4'000'001), Exchange::kDenseAllreduce);
}

TEST(Policy, FromHostToHostTheRouteStays) {
  const RouteSettings hosts{RoutePolicy::kAuto, Exchange::kHostAllgather};
  EXPECT_EQ(ChooseExchange(hosts, 64, 4'000'000, 4'000'001), Exchange::kHostAllgather);
  EXPECT_EQ(ChooseExchange({RoutePolicy::kNever, Exchange::kHostAllgather}, 2, 4000, 4),
            Exchange::kDenseAllreduce);
}

TEST(Policy, OneRankCompressesWithoutTraffic) {
  EXPECT_EQ(TrafficOf(1, 1000, 1000).dense, 0.0);
  EXPECT_EQ(TrafficOf(1, 1000, 1000).sparse, 0.0);
  EXPECT_EQ(ChooseExchange({RoutePolicy::kAuto}, 1, 1000, 1000), Exchange::kSparseAllgather);
}

}  // namespace
}  // namespace weir
