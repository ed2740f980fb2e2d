#include "coordinator/work/network_waiter.h"

#include <gtest/gtest.h>

#include <thread>

#include "common/clock.h"

namespace weir {
namespace {

// A waiter must never miss a wake: every test would hang.

TEST(NetworkWaiter, AWakeThatComesFirstEndsTheNextSleep) {
  NetworkWaiter waiter;
  waiter.Wake();
  waiter.Sleep(0);
}

TEST(NetworkWaiter, AWakeEndsASleepForEver) {
  NetworkWaiter waiter;
  std::jthread other([&] { waiter.Wake(); });
  waiter.Sleep(0);
}

TEST(NetworkWaiter, SeveralWakesEndOneSleepOnly) {
  NetworkWaiter waiter;
  waiter.Wake();
  waiter.Wake();
  waiter.Sleep(0);
  const std::int64_t until = NowNs() + 1'000'000;
  waiter.Sleep(until);
  EXPECT_GE(NowNs(), until);
}

TEST(NetworkWaiter, ASleepEndsAtItsTime) {
  NetworkWaiter waiter;
  waiter.Sleep(1);  // Long past.
  const std::int64_t until = NowNs() + 2'000'000;
  waiter.Sleep(until);
  EXPECT_GE(NowNs(), until);
}

TEST(NetworkWaiter, WhatHasNotMovedForLongIsPolledEverMoreRarely) {
  NetworkWaiter waiter;
  waiter.Moved(1'000'000'000);
  const auto nap_after = [&](std::int64_t age) {
    return waiter.NapNs(NetworkWaiter::For::kData, 1'000'000'000 + age);
  };
  EXPECT_EQ(nap_after(200'000), 0) << "a peer may be copying";
  EXPECT_EQ(nap_after(201'000), 50'000) << "at least";
  EXPECT_EQ(nap_after(10'000'000), 200'000) << "at most for data that move now and then";
  EXPECT_EQ(nap_after(30'000'000), 3'000'000) << "a tenth";
  EXPECT_EQ(nap_after(3'600'000'000'000), 4'000'000) << "at most";
}

TEST(NetworkWaiter, ARoundDeservesLessPatienceThanData) {
  NetworkWaiter waiter;
  waiter.Moved(0);
  EXPECT_EQ(waiter.NapNs(NetworkWaiter::For::kRound, 200'000), 0);
  EXPECT_EQ(waiter.NapNs(NetworkWaiter::For::kRound, 5'000'000), 500'000);
  EXPECT_EQ(waiter.NapNs(NetworkWaiter::For::kData, 5'000'000), 200'000);
}

TEST(NetworkWaiter, WhatComesAfterASleepIsNew) {
  NetworkWaiter waiter;
  waiter.Moved(0);
  waiter.Sleep(1);
  EXPECT_EQ(waiter.NapNs(NetworkWaiter::For::kRound, NowNs()), 0);
}

TEST(NetworkWaiter, APauseMayBeANap) {
  NetworkWaiter waiter;
  const std::int64_t now = NowNs();
  waiter.Moved(now - 30'000'000);
  waiter.Pause(NetworkWaiter::For::kData, now);
  EXPECT_GE(NowNs() - now, 3'000'000);
}

}  // namespace
}  // namespace weir
