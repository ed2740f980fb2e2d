// What compression costs the backward pass, as told from steps of two plans.
#include "coordinator/plan/pass_cost.h"

#include <gtest/gtest.h>

namespace weir::pass_cost_test {
namespace {

StepObservation StepOf(double encode, double decode) {
  StepObservation step;
  step.buckets = {{.ready = 0.02, .encode = encode, .exchange_end = 0.07, .decode = decode},
                  {.ready = 0.1, .encode = encode, .exchange_end = 0.2, .decode = decode}};
  return step;
}

TEST(PassCost, WorkBehindThePassIsNotBesideIt) {
  const PassTimes times = PassTimesOf(StepOf(0.01, 0.005));
  EXPECT_DOUBLE_EQ(times.pass, 0.1);
  EXPECT_DOUBLE_EQ(times.beside, 0.015);
}

TEST(PassCost, WorkThatOutlastsThePassCountsUpToItsEnd) {
  EXPECT_DOUBLE_EQ(PassTimesOf(StepOf(0.5, 0.5)).beside, 0.08 + 0.03);
}

TEST(PassCost, AStepWithoutBucketsHasNone) { EXPECT_EQ(PassTimesOf({}).pass, 0.0); }

TEST(PassCost, IsNothingWhereNeitherFeelsTheOther) {
  const auto cost = PassCostOf(std::vector<std::vector<PassTimes>>{{{1.0, 0.0}}, {{1.0, 0.5}}});
  ASSERT_TRUE(cost);
  EXPECT_DOUBLE_EQ(cost->seconds, 0.0);
  EXPECT_DOUBLE_EQ(cost->kappa, 0.0);
}

TEST(PassCost, TakingTurnsIsOne) {
  // 0.25 s of work take 0.5 s beside a pass that takes its turns, and make it 0.25 s longer.
  const auto cost = PassCostOf(std::vector<std::vector<PassTimes>>{{{1.25, 0.5}}, {{1.0, 0.0}}});
  ASSERT_TRUE(cost);
  EXPECT_DOUBLE_EQ(cost->seconds, 0.25);
  EXPECT_DOUBLE_EQ(cost->kappa, 1.0);
}

TEST(PassCost, IsNeverMoreThanOneNorLessThanNothing) {
  EXPECT_EQ(PassCostOf(std::vector<std::vector<PassTimes>>{{{2.0, 0.5}}, {{1.0, 0.0}}})->kappa,
            1.0);
  EXPECT_EQ(PassCostOf(std::vector<std::vector<PassTimes>>{{{0.5, 0.5}}, {{1.0, 0.0}}})->kappa,
            0.0);
}

TEST(PassCost, ComparesMediansOfThePlansThatDifferMost) {
  const std::vector<std::vector<PassTimes>> plans = {
      {{1.0, 0.1}, {9.0, 0.1}, {1.0, 0.1}}, {{5.0, 0.2}}, {}, {{1.1, 0.4}, {1.1, 0.4}, {0.1, 9.0}}};
  const auto cost = PassCostOf(plans);
  ASSERT_TRUE(cost);
  EXPECT_NEAR(cost->seconds, 0.1, 1e-12);
  EXPECT_NEAR(cost->kappa, 0.5, 1e-9);
}

TEST(PassCost, IsUnknownWhereTheWorkIsAlike) {
  EXPECT_FALSE(PassCostOf({}));
  EXPECT_FALSE(PassCostOf(std::vector<std::vector<PassTimes>>{{{1.0, 0.5}}}));
  EXPECT_FALSE(PassCostOf(std::vector<std::vector<PassTimes>>{{{1.0, 0.5}}, {{1.2, 0.54}}}));
}

}  // namespace
}  // namespace weir::pass_cost_test
