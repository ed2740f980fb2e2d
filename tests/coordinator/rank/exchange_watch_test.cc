#include "coordinator/rank/exchange_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/rank/reach_probe.h"
#include "ops/local/transport.h"
#include "ops/membership/no_membership.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::Eq;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

/// Keeps what it is told.
class ToldMembership final : public NoMembership {
 public:
  void SendUnheard(const std::optional<std::vector<int>>& ranks) override { told.push_back(ranks); }
  std::vector<std::optional<std::vector<int>>> told;
};

class ExchangeWatchTest : public testing::Test {
 protected:
  using Work = ExchangeWatch::Work;
  std::optional<std::string> Look(double seconds, Work work = Work::kExchange) {
    NetworkTotals totals = own_->totals();  // With the questions.
    totals.received_messages += received_;
    return watch_.Check(static_cast<std::int64_t>(seconds * 1e9), work, totals, [] {
      return std::vector<int>{2, 5};
    });
  }
  static Settings Limits() {
    Settings settings;
    settings.stall_warning_seconds = 10;
    settings.stall_shutdown_seconds = 30;
    return settings;
  }

  std::uint64_t received_ = 0;
  ToldMembership membership_;
  local::Network network_{3};
  const std::unique_ptr<Transport> own_ = network_.Endpoint(1);
  ExchangeWatch watch_{Limits(), 1, &membership_, own_.get()};
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

TEST_F(ExchangeWatchTest, WhoIsNotHeardIsToldBeforeTheLimitAndTakenBack) {
  const auto other = network_.Endpoint(2);
  ReachProbe probe(*other);
  Look(100);
  Look(114.9);
  Look(115);  // Asks.
  probe.Start();
  Look(116);
  EXPECT_THAT(membership_.told, IsEmpty());
  Look(122.5);
  EXPECT_THAT(membership_.told, ElementsAre(Optional(ElementsAre(0))));
  ++received_;
  Look(123);
  Look(124);
  EXPECT_THAT(membership_.told, ElementsAre(Optional(ElementsAre(0)), Eq(std::nullopt)));
  watch_.Cancel();
  probe.Cancel();
}

TEST_F(ExchangeWatchTest, ARoundMayLastAndStillTellsWhoIsNotHeard) {
  for (const double seconds : {100, 120, 200}) EXPECT_FALSE(Look(seconds, Work::kRound));
  EXPECT_THAT(membership_.told, ElementsAre(Optional(ElementsAre(0, 2))));
  watch_.Cancel();
}

TEST_F(ExchangeWatchTest, WhatMovesIsWaitedFor) {
  EXPECT_FALSE(Look(100));
  for (int i = 0; i < 11; ++i) {
    ++received_;
    EXPECT_FALSE(Look(100 + 9.0 * i));
  }
  EXPECT_FALSE(Look(210, Work::kNone)) << "nothing is being exchanged";
  EXPECT_FALSE(Look(239));
}

TEST(ExchangeWatch, WithoutALimitNothingEnds) {
  Settings settings;
  settings.stall_shutdown_seconds = 0;
  ExchangeWatch watch(settings, 0, nullptr, nullptr);
  constexpr auto kExchange = ExchangeWatch::Work::kExchange;
  const auto nobody = [] { return std::vector<int>{}; };
  EXPECT_FALSE(watch.Check(0, kExchange, {}, nobody));
  EXPECT_FALSE(watch.Check(1'000'000'000'000, kExchange, {}, nobody));
}

}  // namespace
}  // namespace weir
