#include "coordinator/rank/exchange_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace weir {
namespace {

using testing::HasSubstr;

class ExchangeWatchTest : public testing::Test {
 protected:
  std::optional<std::string> Look(double seconds, bool exchanging = true) {
    return watch_.Check(static_cast<std::int64_t>(seconds * 1e9), exchanging, totals_, [] {
      return std::vector<int>{2, 5};
    });
  }
  static Settings Limits() {
    Settings settings;
    settings.stall_warning_seconds = 10;
    settings.stall_shutdown_seconds = 30;
    return settings;
  }

  NetworkTotals totals_;
  ExchangeWatch watch_{Limits(), 1};
};

TEST_F(ExchangeWatchTest, AnExchangeThatStandsStillForTooLongEndsTheJob) {
  EXPECT_FALSE(Look(100, false));
  EXPECT_FALSE(Look(101));
  testing::internal::CaptureStderr();
  EXPECT_FALSE(Look(109.9));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  EXPECT_FALSE(Look(110));
  EXPECT_FALSE(Look(119.9));
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      HasSubstr("an exchange of rank 1 has stood still for 10.0 s, waiting for ranks [2, 5]"));
  EXPECT_FALSE(Look(129.9));
  EXPECT_THAT(Look(130).value_or(""), HasSubstr("stood still for 30.0 s"));
}

TEST_F(ExchangeWatchTest, WhatMovesIsWaitedFor) {
  EXPECT_FALSE(Look(100));
  for (int i = 0; i < 11; ++i) {
    ++totals_.received_messages;
    EXPECT_FALSE(Look(100 + 9.0 * i));
  }
  EXPECT_FALSE(Look(210, false)) << "nothing is being exchanged";
  EXPECT_FALSE(Look(239));
}

TEST(ExchangeWatch, WithoutALimitNothingEnds) {
  Settings settings;
  settings.stall_shutdown_seconds = 0;
  ExchangeWatch watch(settings, 0);
  const auto nobody = [] { return std::vector<int>{}; };
  EXPECT_FALSE(watch.Check(0, true, {}, nobody));
  EXPECT_FALSE(watch.Check(1'000'000'000'000, true, {}, nobody));
}

}  // namespace
}  // namespace weir
