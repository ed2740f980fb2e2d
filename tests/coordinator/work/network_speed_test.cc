#include "coordinator/work/network_speed.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// One exchange, alone.
struct Exchange {
  std::int64_t from_ns, to_ns;
  std::uint64_t from_bytes, to_bytes;
};

bool FastAfter(NetworkSpeed& speed, const Exchange& exchange) {
  speed.Begin(exchange.from_ns, exchange.from_bytes);
  speed.End(exchange.to_ns, exchange.to_bytes);
  return speed.fast();
}

TEST(NetworkSpeed, IsFastFromOneAndAHalfGigabitsASecondOn) {
  NetworkSpeed speed;
  EXPECT_FALSE(speed.fast()) << "before anything was sent";
  EXPECT_TRUE(FastAfter(speed, {5 * kSecond, 6 * kSecond, 7, 7 + 187'500'000}));
  EXPECT_FALSE(FastAfter(speed, {7 * kSecond, 8 * kSecond, 7 + 187'500'000, 7 + 374'999'999}));
}

TEST(NetworkSpeed, LittleSaysNothingUntilItIsEnough) {
  NetworkSpeed speed;
  EXPECT_FALSE(FastAfter(speed, {0, 1000, 0, 31 * kMiB}));
  EXPECT_TRUE(FastAfter(speed, {kSecond, kSecond + 1000, 31 * kMiB, 32 * kMiB}));
  EXPECT_TRUE(FastAfter(speed, {2 * kSecond, 20 * kSecond, 32 * kMiB, 63 * kMiB}))
      << "what has led to a verdict is not counted again";
}

TEST(NetworkSpeed, TimeWithoutExchangesDoesNotCount) {
  NetworkSpeed speed;
  FastAfter(speed, {0, kSecond / 20, 0, 16 * kMiB});
  EXPECT_TRUE(
      FastAfter(speed, {100 * kSecond, 100 * kSecond + kSecond / 20, 500 * kMiB, 516 * kMiB}))
      << "32 MiB in 0.1 s";
  speed.Begin(200 * kSecond, 516 * kMiB);
  speed.Begin(201 * kSecond, 516 * kMiB);
  speed.End(202 * kSecond, 550 * kMiB);
  EXPECT_FALSE(speed.fast()) << "34 MiB in 2 s";
}

TEST(NetworkSpeed, ExchangesBesideEachOtherAreMeasuredTogether) {
  NetworkSpeed speed;
  speed.Begin(0, 0);
  speed.Begin(kSecond / 2, 10 * kMiB);
  speed.End(kSecond, 300 * kMiB);
  EXPECT_TRUE(speed.fast()) << "300 MiB in 1 s";
  speed.End(2 * kSecond, 400 * kMiB);
  EXPECT_FALSE(speed.fast()) << "100 MiB in 1 s: what was measured is not counted again";
}

}  // namespace
}  // namespace weir
