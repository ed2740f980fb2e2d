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

TEST(NetworkWaiter, WhatIsOutstandingForLongIsPolledAfterARealNap) {
  NetworkWaiter waiter;
  const std::int64_t before = NowNs();
  waiter.Pause(NetworkWaiter::For::kData, before,
               before - 30'000'000);  // A tenth of its age: 3 ms.
  EXPECT_GE(NowNs() - before, 3'000'000);
  const std::int64_t again = NowNs();
  waiter.Pause(NetworkWaiter::For::kData, again,
               again - 3'600'000'000'000);  // At most 4 ms, also after an hour.
  EXPECT_GE(NowNs() - again, 4'000'000);
}

}  // namespace
}  // namespace weir
