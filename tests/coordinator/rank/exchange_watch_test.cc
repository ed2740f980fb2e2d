#include "coordinator/rank/exchange_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "ops/membership/no_membership.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Keeps what it is told.
class ToldMembership final : public NoMembership {
 public:
  void SendAwaited(const std::vector<int>& ranks, bool exchanging) override {
    told.push_back(ranks);
    in_exchange = exchanging;
  }
  std::vector<std::vector<int>> told;
  bool in_exchange = false;
};

class ExchangeWatchTest : public testing::Test {
 protected:
  using Work = ExchangeWatch::Work;
  std::optional<std::string> Look(double seconds, Work work = Work::kExchange) {
    return watch_.Check(static_cast<std::int64_t>(seconds * 1e9), work, totals_, [] {
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
  ToldMembership membership_;
  ExchangeWatch watch_{Limits(), 1, &membership_};
};

TEST_F(ExchangeWatchTest, AnExchangeThatStandsStillForTooLongEndsTheJob) {
  EXPECT_FALSE(Look(100, Work::kNone));
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

TEST_F(ExchangeWatchTest, WhoIsAwaitedIsToldBeforeTheLimitAndTakenBack) {
  Look(100);
  Look(114.9);
  EXPECT_THAT(membership_.told, IsEmpty());
  Look(115);
  Look(120);
  EXPECT_THAT(membership_.told, ElementsAre(ElementsAre(2, 5)));
  EXPECT_TRUE(membership_.in_exchange);
  ++totals_.received_messages;
  Look(121);
  Look(122);
  EXPECT_THAT(membership_.told, ElementsAre(ElementsAre(2, 5), IsEmpty()));
}

TEST_F(ExchangeWatchTest, ARoundMayLastAndStillTellsWhoIsAwaited) {
  for (const double seconds : {100, 120, 200}) EXPECT_FALSE(Look(seconds, Work::kRound));
  EXPECT_THAT(membership_.told, ElementsAre(ElementsAre(2, 5)));
  EXPECT_FALSE(membership_.in_exchange);
}

TEST_F(ExchangeWatchTest, WhatMovesIsWaitedFor) {
  EXPECT_FALSE(Look(100));
  for (int i = 0; i < 11; ++i) {
    ++totals_.received_messages;
    EXPECT_FALSE(Look(100 + 9.0 * i));
  }
  EXPECT_FALSE(Look(210, Work::kNone)) << "nothing is being exchanged";
  EXPECT_FALSE(Look(239));
}

TEST(ExchangeWatch, WithoutALimitNothingEnds) {
  Settings settings;
  settings.stall_shutdown_seconds = 0;
  ExchangeWatch watch(settings, 0, nullptr);
  constexpr auto kExchange = ExchangeWatch::Work::kExchange;
  const auto nobody = [] { return std::vector<int>{}; };
  EXPECT_FALSE(watch.Check(0, kExchange, {}, nobody));
  EXPECT_FALSE(watch.Check(1'000'000'000'000, kExchange, {}, nobody));
}

}  // namespace
}  // namespace weir
