#include "launcher/hosts/host_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::launcher {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

const HostPool::Time kNow{};

TEST(HostPool, HasTheSlotsThatNobodyUses) {
  HostPool pool({});
  pool.Update({{"a", 2}, {"b", 1}});
  EXPECT_EQ(pool.SlotsOf("a"), 2);
  EXPECT_THAT(pool.Free({}, kNow), ElementsAre("a", "a", "b"));
  EXPECT_THAT(pool.Free({{"a", 1}, {"b", 2}}, kNow), ElementsAre("a"));
}

TEST(HostPool, HostsThatStayComeFirst) {
  HostPool pool({});
  pool.Update({{"b", 1}});
  pool.Update({{"a", 1}, {"b", 2}});
  EXPECT_THAT(pool.Free({}, kNow), ElementsAre("b", "b", "a"));
  pool.Update({{"a", 1}});
  EXPECT_EQ(pool.SlotsOf("b"), 0);
  EXPECT_THAT(pool.Free({}, kNow), ElementsAre("a"));
}

TEST(HostPool, ALostSlotRestsForEver) {
  HostPool pool({});
  pool.Update({{"a", 2}});
  pool.Lose("a", kNow);
  EXPECT_THAT(pool.Free({}, kNow + seconds(1000000)), ElementsAre("a"));
  EXPECT_FALSE(pool.next_return(kNow));
}

TEST(HostPool, RestsGetLonger) {
  HostPool pool(HostPool::Cooldown{.least = seconds(10), .most = seconds(30)});
  pool.Update({{"a", 1}});
  HostPool::Time now = kNow;
  for (const int rest : {10, 20, 30, 30}) {
    pool.Lose("a", now);
    EXPECT_EQ(pool.next_return(now), now + seconds(rest));
    EXPECT_THAT(pool.Free({}, now + seconds(rest - 1)), IsEmpty());
    now += seconds(rest);
    EXPECT_THAT(pool.Free({}, now), ElementsAre("a"));
  }
}

TEST(HostPool, AHostThatWentAndComesAgainIsAsNew) {
  HostPool pool({});
  pool.Update({{"a", 1}});
  pool.Lose("a", kNow);
  pool.Update({});
  pool.Update({{"a", 1}});
  EXPECT_THAT(pool.Free({}, kNow), ElementsAre("a"));
}

}  // namespace
}  // namespace weir::launcher
