#include "coordinator/network_speed.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

TEST(NetworkSpeed, IsFastFromOneAndAHalfGigabitsASecondOn) {
  NetworkSpeed speed;
  EXPECT_FALSE(speed.fast()) << "before anything was sent";
  speed.Begin(5 * kSecond, 7);
  speed.End(6 * kSecond, 7 + 187'500'000);
  EXPECT_TRUE(speed.fast());
  speed.Begin(7 * kSecond, 7 + 187'500'000);
  speed.End(8 * kSecond, 7 + 374'999'999);
  EXPECT_FALSE(speed.fast());
}

TEST(NetworkSpeed, LittleSaysNothingUntilItIsEnough) {
  NetworkSpeed speed;
  speed.Begin(0, 0);
  speed.End(1000, 31 * kMiB);
  EXPECT_FALSE(speed.fast());
  speed.Begin(kSecond, 31 * kMiB);
  speed.End(kSecond + 1000, 32 * kMiB);
  EXPECT_TRUE(speed.fast());
  speed.Begin(2 * kSecond, 32 * kMiB);
  speed.End(20 * kSecond, 63 * kMiB);
  EXPECT_TRUE(speed.fast()) << "what has led to a verdict is not counted again";
}

TEST(NetworkSpeed, TimeWithoutExchangesDoesNotCount) {
  NetworkSpeed speed;
  speed.Begin(0, 0);
  speed.End(kSecond / 20, 16 * kMiB);
  speed.Begin(100 * kSecond, 500 * kMiB);
  speed.End(100 * kSecond + kSecond / 20, 516 * kMiB);
  EXPECT_TRUE(speed.fast()) << "32 MiB in 0.1 s";
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
