#include "coordinator/plan/step_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace weir::step_time_test {
namespace {

constexpr HostLink kLink{.seconds_per_message = 0.001, .bytes_per_second = 1e6};
constexpr WireRoute kRoutes[] = {WireRoute::kDenseAllreduce, WireRoute::kSparseAllgather,
                                 WireRoute::kSplitAllgather, WireRoute::kHostAllgather,
                                 WireRoute::kPushPull};

TEST(ExchangeSeconds, CountsPhasesAndWhatAHostSends) {
  const EqualHosts four{.hosts = 4};
  const auto seconds = [&](WireRoute route) {
    return ExchangeSeconds(route, four, kLink, {.dense = 4'000'000, .payload = 1000});
  };
  EXPECT_DOUBLE_EQ(seconds(WireRoute::kDenseAllreduce), 0.002 + 6.0 / 0.96);
  EXPECT_DOUBLE_EQ(seconds(WireRoute::kSparseAllgather), 0.001 + 0.003);
  EXPECT_DOUBLE_EQ(seconds(WireRoute::kSplitAllgather), 0.002 + 0.75 * 0.009);
  EXPECT_DOUBLE_EQ(seconds(WireRoute::kPushPull), 0.002 + 0.0015);
  EXPECT_DOUBLE_EQ(seconds(WireRoute::kHostAllgather), 0.001 + 0.003);
}

TEST(ExchangeSeconds, RanksOfAHostShareItsLinkAndReachEachOtherWithoutIt) {
  const EqualHosts places{.hosts = 2, .ranks_per_host = 2};
  const ExchangeBytes bytes{.dense = 4'000'000, .payload = 1000};
  // Each of two ranks sends to two elsewhere, out of three.
  EXPECT_DOUBLE_EQ(ExchangeSeconds(WireRoute::kSparseAllgather, places, kLink, bytes),
                   0.001 + 0.004);
  EXPECT_DOUBLE_EQ(ExchangeSeconds(WireRoute::kDenseAllreduce, places, kLink, bytes), 0.002 + 8.0);
  EXPECT_DOUBLE_EQ(ExchangeSeconds(WireRoute::kHostAllgather, places, kLink, bytes), 0.001 + 0.001);
}

TEST(ExchangeSeconds, OneHostHasNoNetwork) {
  for (const WireRoute route : kRoutes) {
    EXPECT_EQ(ExchangeSeconds(route, {.ranks_per_host = 4}, kLink, {1000, 10}), 0.0);
  }
}

TEST(ExchangeSeconds, NeverRisesWithTheSpeedOfTheLink) {
  for (const WireRoute route : kRoutes) {
    double before = ExchangeSeconds(route, {.hosts = 8}, {0.0, 1e5}, {1 << 20, 1 << 12});
    for (int doubling = 1; doubling <= 16; ++doubling) {
      const double speed = std::ldexp(1e5, doubling);
      const double now = ExchangeSeconds(route, {.hosts = 8}, {0.0, speed}, {1 << 20, 1 << 12});
      EXPECT_LT(now, before);
      before = now;
    }
  }
}

TEST(Timeline, OfOneBucketIsTheSumOfItsParts) {
  const BucketTimes bucket{.ready = 1, .encode = 2, .exchange = 3, .decode = 4};
  const StepTimes times = TimelineOf({&bucket, 1});
  EXPECT_DOUBLE_EQ(times.end, 10);
  EXPECT_DOUBLE_EQ(times.exposed(), 9);
}

TEST(Timeline, HidesWhatHappensMeanwhile) {
  // The second bucket is encoded while the first is on the network, and both before the backward
  // pass ends.
  const BucketTimes buckets[] = {{.ready = 1, .encode = 1, .exchange = 3, .decode = 1},
                                 {.ready = 2, .encode = 1, .exchange = 3, .decode = 1},
                                 {.ready = 9, .encode = 1, .exchange = 1, .decode = 1}};
  const StepTimes times = TimelineOf(buckets);
  EXPECT_DOUBLE_EQ(times.end, 12);
  EXPECT_DOUBLE_EQ(times.ready, 9);
  EXPECT_DOUBLE_EQ(times.network, 7);
}

TEST(Timeline, WaitsForTheNetwork) {
  const BucketTimes buckets[] = {{.ready = 0, .exchange = 5}, {.ready = 0, .exchange = 5}};
  EXPECT_DOUBLE_EQ(TimelineOf(buckets).end, 10);
}

TEST(Timeline, NeverEndsEarlierWhenAPartTakesLonger) {
  std::random_device device;
  const unsigned seed = device();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> seconds(0.0, 1.0);
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<BucketTimes> buckets(1 + random() % 6);
    double ready = 0.0;
    for (BucketTimes& bucket : buckets) {
      ready += seconds(random);
      bucket = {ready, seconds(random), seconds(random), seconds(random)};
    }
    const StepTimes before = TimelineOf(buckets);
    // Nothing is faster than its longest chain, nor slower than one part after the other.
    double sum = ready;
    for (const BucketTimes& bucket : buckets) {
      sum += bucket.encode + bucket.exchange + bucket.decode;
      EXPECT_GE(before.end, bucket.ready + bucket.encode + bucket.exchange + bucket.decode);
    }
    EXPECT_GE(before.end, before.network);
    EXPECT_LE(before.end, sum + 1e-9);
    BucketTimes& changed = buckets[random() % buckets.size()];
    double* const parts[] = {&changed.ready, &changed.encode, &changed.exchange, &changed.decode};
    *parts[random() % 4] += seconds(random);
    EXPECT_GE(TimelineOf(buckets).end, before.end);
  }
}

}  // namespace
}  // namespace weir::step_time_test
