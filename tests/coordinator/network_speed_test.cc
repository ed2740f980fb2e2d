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

TEST(NetworkSpeed, LittleSaysNothing) {
  NetworkSpeed speed;
  speed.Begin(0, 0);
  speed.End(1000, 32 * kMiB - 1);
  EXPECT_FALSE(speed.fast());
  speed.Begin(kSecond, 0);
  speed.End(kSecond + 1000, 32 * kMiB);
  EXPECT_TRUE(speed.fast());
  speed.Begin(2 * kSecond, 0);
  speed.End(20 * kSecond, 32 * kMiB - 1);
  EXPECT_TRUE(speed.fast());
}

TEST(NetworkSpeed, TimeWithoutExchangesDoesNotCount) {
  NetworkSpeed speed;
  speed.Begin(0, 0);
  speed.End(kSecond, kMiB);
  speed.Begin(100 * kSecond, kMiB);
  speed.End(100 * kSecond + kSecond / 10, 101 * kMiB);
  EXPECT_TRUE(speed.fast());
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
