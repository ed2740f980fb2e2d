#include "coordinator/rank/clock_comparison.h"

#include <gtest/gtest.h>

#include <chrono>

#include "ops/local/transport.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

TEST(ClockComparison, IsKnownAtOnceOnRankZeroAndElsewhereOncePublished) {
  local::Network network(2);
  const auto first = network.Endpoint(0);
  const auto second = network.Endpoint(1);
  ClockComparison zero(*first);
  ClockComparison one(*second);
  EXPECT_TRUE(zero.Await(milliseconds(0)));
  bool zero_is_done = false;
  while (!one.Poll()) zero_is_done = zero.Poll() || zero_is_done;
  while (!zero_is_done) zero_is_done = zero.Poll();

  // What is counted up to here can be stored before anybody sees it.
  EXPECT_TRUE(one.done());
  EXPECT_FALSE(one.Await(milliseconds(0)));
  zero.Publish();
  one.Publish();

  const auto known = one.Await(milliseconds(0));
  ASSERT_TRUE(known);
  EXPECT_EQ(known->began_ns, zero.Await(milliseconds(0))->began_ns);
}

}  // namespace
}  // namespace weir
