#include "warmup/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "weir/error.h"

namespace weir {
namespace {

using testing::ElementsAre;

TEST(Schedule, DefaultListFallsInEqualParts) {
  const Schedule schedule = MakeSchedule({.warmup_steps = 1000});
  EXPECT_EQ(schedule.Density(0), 0.25);
  EXPECT_EQ(schedule.Density(199), 0.25);
  EXPECT_EQ(schedule.Density(200), 0.0625);
  EXPECT_EQ(schedule.Density(400), 0.015625);
  EXPECT_EQ(schedule.Density(600), 0.004);
  EXPECT_EQ(schedule.Density(799), 0.004);
  EXPECT_EQ(schedule.Density(800), 0.001);
  EXPECT_EQ(schedule.Density(1000000), 0.001);
}

TEST(Schedule, DefaultListEndsAtTheDensityAskedFor) {
  EXPECT_THAT(DefaultStages(0.01), ElementsAre(0.25, 0.0625, 0.015625, 0.01));
  EXPECT_THAT(DefaultStages(0.0001), ElementsAre(0.25, 0.0625, 0.015625, 0.004, 0.001, 0.0001));
  EXPECT_THAT(DefaultStages(0.25), ElementsAre(0.25));
  EXPECT_THAT(DefaultStages(1.0), ElementsAre(1.0));
}

/// Paddle's rule: index = floor((step - begin) * size / rampup_step), the last one for ever.
TEST(Schedule, RampsUpLikePaddle) {
  const Schedule schedule = MakeSchedule(
      {.begin_step = 10, .warmup_steps = 7, .final_density = 0.1, .stages = {0.5, 0.2, 0.1}});
  for (std::int64_t step = 10; step < 30; ++step) {
    const std::int64_t elapsed = step - 10;
    const double expected = elapsed * 3 / 7 == 0 ? 0.5 : elapsed * 3 / 7 == 1 ? 0.2 : 0.1;
    EXPECT_EQ(schedule.Density(step), expected) << step;
  }
}

TEST(Schedule, IsDenseBeforeItBegins) {
  const Schedule schedule = MakeSchedule({.begin_step = 10, .final_density = 0.1});
  EXPECT_TRUE(schedule.DensePhase(9));
  EXPECT_EQ(schedule.Density(9), 1.0);
  EXPECT_FALSE(schedule.DensePhase(10));
  EXPECT_EQ(schedule.Density(10), 0.1);
}

TEST(Schedule, ExponentialIsSmoothAndMeetsBothEnds) {
  const Schedule schedule = MakeSchedule({.form = ScheduleForm::kExponential, .warmup_steps = 100});
  EXPECT_EQ(schedule.Density(0), 0.25);
  EXPECT_NEAR(schedule.Density(50), std::sqrt(0.25 * 0.001), 1e-12);
  EXPECT_EQ(schedule.Density(100), 0.001);
  for (std::int64_t step = 1; step <= 100; ++step) {
    EXPECT_NEAR(schedule.Density(step) / schedule.Density(step - 1), std::pow(0.004, 0.01), 1e-9);
  }
}

TEST(Schedule, ConstantIgnoresTheWarmup) {
  const Schedule schedule =
      MakeSchedule({.form = ScheduleForm::kConstant, .warmup_steps = 100, .final_density = 0.02});
  EXPECT_EQ(schedule.Density(0), 0.02);
  EXPECT_EQ(schedule.Density(100), 0.02);
}

TEST(Schedule, AVeryShortWarmupSkipsStages) {
  const Schedule schedule = MakeSchedule({.warmup_steps = 2});
  EXPECT_EQ(schedule.Density(0), 0.25);
  EXPECT_EQ(schedule.Density(1), 0.015625);
  EXPECT_EQ(schedule.Density(2), 0.001);
}

TEST(Schedule, RefusesWhatIsNoSchedule) {
  EXPECT_THROW(MakeSchedule({.final_density = 0.0}), InvalidArgument);
  EXPECT_THROW(MakeSchedule({.final_density = 1.5}), InvalidArgument);
  EXPECT_THROW(MakeSchedule({.final_density = std::nan("")}), InvalidArgument);
  EXPECT_THROW(MakeSchedule({.warmup_steps = -1}), InvalidArgument);
  EXPECT_THROW(MakeSchedule({.begin_step = -1}), InvalidArgument);
  EXPECT_THROW(MakeSchedule({.final_density = 0.1, .stages = {0.5, 0.2}}), InvalidArgument);
}

}  // namespace
}  // namespace weir
