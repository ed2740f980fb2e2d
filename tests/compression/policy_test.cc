#include "compression/policy.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Policy, TrafficFollowsTheTwoFormulas) {
  const RouteTraffic traffic = TrafficOf(4, 1000, 10);
  EXPECT_DOUBLE_EQ(traffic.dense, 1500.0);
  EXPECT_DOUBLE_EQ(traffic.sparse, 30.0);
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
    EXPECT_EQ(ChooseRoute(RoutePolicy::kAuto, ranks, 4 * kElements, payload(0.99)),
              Route::kSparseAllgather);
    EXPECT_EQ(ChooseRoute(RoutePolicy::kAuto, ranks, 4 * kElements, payload(1.01)),
              Route::kDenseAllreduce);
  }
}

/// 75 % sparsity on 32 ranks, 8 bytes a pair: 32 times the traffic of dense in all-gather is more
/// than dense; 99.9 % is far less.
TEST(Policy, WarmupOnManyRanksTravelsDense) {
  EXPECT_EQ(ChooseRoute(RoutePolicy::kAuto, 32, 4'000'000, 2'000'000), Route::kDenseAllreduce);
  EXPECT_EQ(ChooseRoute(RoutePolicy::kAuto, 32, 4'000'000, 8'000), Route::kSparseAllgather);
}

TEST(Policy, AlwaysAndNeverMeanWhatTheySay) {
  EXPECT_EQ(ChooseRoute(RoutePolicy::kAlways, 1000, 4, 4000), Route::kSparseAllgather);
  EXPECT_EQ(ChooseRoute(RoutePolicy::kNever, 2, 4000, 4), Route::kDenseAllreduce);
}

TEST(Policy, OneRankCompressesWithoutTraffic) {
  EXPECT_EQ(TrafficOf(1, 1000, 1000).dense, 0.0);
  EXPECT_EQ(TrafficOf(1, 1000, 1000).sparse, 0.0);
  EXPECT_EQ(ChooseRoute(RoutePolicy::kAuto, 1, 1000, 1000), Route::kSparseAllgather);
}

}  // namespace
}  // namespace weir
