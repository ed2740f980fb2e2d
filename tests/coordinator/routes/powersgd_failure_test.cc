// A failed exchange of a factor: the gradient counts as accumulated, and nothing as sent.
#include <gtest/gtest.h>

#include <vector>

#include "tests/coordinator/routes/broken_exchange.h"

namespace weir::powersgd_failure_test {
namespace {

class PowerSgdFailure : public testing::TestWithParam<std::uint32_t> {};

TEST_P(PowerSgdFailure, LeavesTheGradientAccumulatedAndTheFactorAsItWas) {
  const BrokenExchange outcome =
      BreakExchange(GetParam(), {{"compressor", "powersgd"}, {"min_elements", "0"}});
  ASSERT_EQ(outcome.before.size(), 2u);
  ASSERT_EQ(outcome.after.size(), 2u) << "nothing failed on the victim";
  std::vector<float> expected = outcome.before[0].values;
  for (std::size_t i = 0; i < kBrokenElements; ++i) expected[i] = outcome.gradient[i] + expected[i];
  EXPECT_EQ(outcome.after[0].name, "error");
  EXPECT_TRUE(outcome.after[0].values == expected);
  EXPECT_EQ(outcome.after[1].name, "factor");
  EXPECT_TRUE(outcome.after[1].values == outcome.before[1].values);
  EXPECT_TRUE(outcome.update == std::vector<float>(kBrokenElements, kUntouched));
}

INSTANTIATE_TEST_SUITE_P(Exchange, PowerSgdFailure, testing::Values(0u, 1u),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir::powersgd_failure_test
