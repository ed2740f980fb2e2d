#include <gtest/gtest.h>

#include "examples/01-byte-lm/learning_rate.h"

namespace byte_lm {
namespace {

TEST(LearningRate, CosineFallsFromThePeakTowardsZero) {
  EXPECT_FLOAT_EQ(LearningRate(RateSchedule::kCosine, 0.3f, 0, 1000, 0), 0.3f);
  EXPECT_FLOAT_EQ(LearningRate(RateSchedule::kCosine, 0.3f, 500, 1000, 0), 0.15f);
  EXPECT_LT(LearningRate(RateSchedule::kCosine, 0.3f, 999, 1000, 0), 1e-5f);
}

TEST(LearningRate, ConstantStays) {
  EXPECT_EQ(LearningRate(RateSchedule::kConstant, 0.3f, 999, 1000, 0), 0.3f);
}

TEST(LearningRate, WarmupRisesLinearlyAndTheScheduleFollows) {
  EXPECT_FLOAT_EQ(LearningRate(RateSchedule::kCosine, 0.4f, 0, 1000, 100), 0.004f);
  EXPECT_FLOAT_EQ(LearningRate(RateSchedule::kCosine, 0.4f, 99, 1000, 100), 0.4f);
  EXPECT_FLOAT_EQ(LearningRate(RateSchedule::kCosine, 0.4f, 100, 1000, 100), 0.4f);
  EXPECT_FLOAT_EQ(LearningRate(RateSchedule::kCosine, 0.4f, 550, 1000, 100), 0.2f);
}

}  // namespace
}  // namespace byte_lm
