// A failed push or answer: gradients count as accumulated at their origin,
// and servers keep nothing of them.
#include <gtest/gtest.h>

#include <vector>

#include "tests/coordinator/routes/broken_exchange.h"

namespace weir::push_pull_failure_test {
namespace {

class PushPullFailure : public testing::TestWithParam<std::uint32_t> {};

TEST_P(PushPullFailure, LeavesTheGradientAccumulatedAndServersAsTheyWere) {
  const BrokenExchange outcome = BreakExchange(GetParam(), {{"compressor", "topk"},
                                                            {"k", "0.1"},
                                                            {"ef", "vanilla"},
                                                            {"min_elements", "0"},
                                                            {"route", "push_pull"},
                                                            {"partition_bytes", "4000"}});
  ASSERT_EQ(outcome.before.size(), 4u);  // Three parts, and the one that the victim serves.
  ASSERT_EQ(outcome.after.size(), 4u) << "nothing failed on the victim";
  for (std::size_t part = 0; part < 3; ++part) {
    std::vector<float> expected = outcome.before[part].values;
    ASSERT_EQ(expected.size(), kBrokenElements / 3);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expected[i] = outcome.gradient[part * expected.size() + i] + expected[i];
    }
    EXPECT_TRUE(outcome.after[part].values == expected) << part;
  }
  EXPECT_EQ(outcome.after[3].tensor, "w#2 at its server");
  EXPECT_NE(outcome.before[3].values, std::vector<float>(kBrokenElements / 3));
  EXPECT_TRUE(outcome.after[3].values == outcome.before[3].values);
  EXPECT_TRUE(outcome.update == std::vector<float>(kBrokenElements, kUntouched));
}

INSTANTIATE_TEST_SUITE_P(Exchange, PushPullFailure, testing::Values(0u, 1u),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir::push_pull_failure_test
