#include "weir/learning_rate.h"

#include <gtest/gtest.h>

#include "weir/error.h"

namespace weir {
namespace {

using Decay = LearningRateSchedule::Decay;

TEST(LearningRateSchedule, CosineFallsFromThePeakToZeroAndStaysThere) {
  const LearningRateSchedule rate{.peak = 0.3f, .steps = 1000};
  EXPECT_FLOAT_EQ(rate.At(0), 0.3f);
  EXPECT_FLOAT_EQ(rate.At(500), 0.15f);
  EXPECT_LT(rate.At(999), 1e-5f);
  EXPECT_EQ(rate.At(1000), 0.0f);
  EXPECT_EQ(rate.At(5000), 0.0f);
}

TEST(LearningRateSchedule, ConstantStays) {
  const LearningRateSchedule rate{.peak = 0.3f, .decay = Decay::kConstant};
  EXPECT_EQ(rate.At(0), 0.3f);
  EXPECT_EQ(rate.At(1000000), 0.3f);
}

TEST(LearningRateSchedule, WarmupRisesLinearlyAndTheDecayFollows) {
  const LearningRateSchedule rate{
      .peak = 0.4f, .steps = 1000, .warmup_steps = 100, .warmup_start = 0.25f};
  EXPECT_FLOAT_EQ(rate.At(0), 0.1f);
  EXPECT_FLOAT_EQ(rate.At(50), 0.25f);
  EXPECT_FLOAT_EQ(rate.At(100), 0.4f);
  EXPECT_FLOAT_EQ(rate.At(550), 0.2f);
}

TEST(LearningRateSchedule, RefusesWhatIsNoSchedule) {
  EXPECT_THROW((LearningRateSchedule{.steps = 10, .warmup_steps = -1}.At(0)), InvalidArgument);
  EXPECT_THROW((LearningRateSchedule{.steps = 10, .warmup_steps = 10}.At(0)), InvalidArgument);
  EXPECT_THROW((LearningRateSchedule{.steps = 10, .warmup_start = 1.5f}.At(0)), InvalidArgument);
}

}  // namespace
}  // namespace weir
