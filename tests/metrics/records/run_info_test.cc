#include "metrics/records/run_info.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr std::int64_t kUnix = 1'700'000'000'000'000'000;

JobClock Clock(std::int64_t offset_ns) {
  return {.offset_ns = offset_ns, .error_ns = 20, .began_ns = 1'000, .unix_time_at_0_ns = kUnix};
}

TEST(RunInfo, AJobHasOneIdOnAllRanksAndAnotherOneTheNextTime) {
  const RunInfo zero{.rank = 0, .clock = Clock(0)};
  const RunInfo one{.rank = 1, .clock = Clock(5'000'000)};
  EXPECT_EQ(JobId(zero), JobId(one));
  EXPECT_NE(JobId(zero), "");
  RunInfo next = zero;
  ++next.clock->began_ns;
  EXPECT_NE(JobId(next), JobId(zero));
  EXPECT_EQ(JobId({.rank = 0}), "") << "who has not heard of rank 0 does not know";
}

TEST(RunInfo, TimesAreThoseOfTheJobsClock) {
  EXPECT_EQ(JobTimeAtZeroNs({.clock = Clock(0)}), kUnix);
  EXPECT_EQ(JobTimeAtZeroNs({.clock = Clock(5'000)}), kUnix + 5'000);
  EXPECT_EQ(JobTimeAtZeroNs({.clock = Clock(-5'000)}), kUnix - 5'000);
  // Ranks of one host have one clock, of which each has measured something else.
  EXPECT_EQ(JobTimeAtZeroNs({.clock = Clock(20)}), kUnix);
  EXPECT_EQ(JobTimeAtZeroNs({.clock = Clock(-21)}), kUnix - 21);
}

}  // namespace
}  // namespace weir
