#include "warmup/learning_rate.h"

#include <gtest/gtest.h>

#include "weir/error.h"

namespace weir {
namespace {

TEST(LearningRateWarmup, RisesLinearlyAndStays) {
  const LearningRateWarmup warmup(100, 0.25);
  EXPECT_DOUBLE_EQ(warmup.Factor(0), 0.25);
  EXPECT_DOUBLE_EQ(warmup.Factor(50), 0.625);
  EXPECT_DOUBLE_EQ(warmup.Factor(100), 1.0);
  EXPECT_DOUBLE_EQ(warmup.Factor(1000000), 1.0);
}

TEST(LearningRateWarmup, NoStepsMeansNoWarmup) {
  EXPECT_EQ(LearningRateWarmup().Factor(0), 1.0);
  EXPECT_EQ(LearningRateWarmup(0, 0.1).Factor(0), 1.0);
}

TEST(LearningRateWarmup, RefusesWhatIsNoRamp) {
  EXPECT_THROW(LearningRateWarmup(-1, 0.5), InvalidArgument);
  EXPECT_THROW(LearningRateWarmup(10, -0.5), InvalidArgument);
  EXPECT_THROW(LearningRateWarmup(10, 1.5), InvalidArgument);
}

}  // namespace
}  // namespace weir
