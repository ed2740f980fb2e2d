#include "metrics/steps/step_recorder.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace weir {
namespace {

class StepRecorderTest : public testing::Test {
 protected:
  std::vector<StageRecord> Recorded() const {
    std::vector<StageRecord> records(16);
    records.resize(recorder_.Read(0, records).count);
    return records;
  }

  Recorder recorder_;
  StepRecorder steps_{recorder_};
};

TEST_F(StepRecorderTest, AGroupAloneTakesItsStep) {
  {
    StepRecorder::GroupPart part(steps_, 10);
    part.End({.step = 4, .bytes_in = 100, .bytes_out = 7, .density = 0.25f}, 60);
    EXPECT_TRUE(Recorded().empty()) << "the step is over once its group has left";
  }
  const auto records = Recorded();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].stage, Stage::kStep);
  EXPECT_EQ(records[0].step, 4);
  EXPECT_EQ(records[0].start_ns, 10);
  EXPECT_EQ(records[0].end_ns, 60);
  EXPECT_EQ(records[0].bytes_in, 100u);
  EXPECT_EQ(records[0].bytes_out, 7u);
  EXPECT_EQ(records[0].density, 0.25f);
}

TEST_F(StepRecorderTest, GroupsInAStepAtOnceTakeItTogether) {
  for (std::int64_t step = 0; step < 2; ++step) {
    std::optional<StepRecorder::GroupPart> one(std::in_place, steps_, 100 * step + 10);
    std::optional<StepRecorder::GroupPart> other(std::in_place, steps_, 100 * step + 20);
    one->End({.step = step, .bytes_in = 300, .bytes_out = 3, .density = 0.01f}, 100 * step + 50);
    one.reset();
    other->End({.step = step, .bytes_in = 100, .bytes_out = 100}, 100 * step + 70);
  }
  const auto records = Recorded();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1].step, 1);
  EXPECT_EQ(records[1].start_ns, 110);
  EXPECT_EQ(records[1].end_ns, 170);
  EXPECT_EQ(records[1].bytes_in, 400u);
  EXPECT_EQ(records[1].bytes_out, 103u);
  EXPECT_FLOAT_EQ(records[1].density, (3 * 0.01f + 1.0f) / 4) << "by what each has to exchange";
}

TEST_F(StepRecorderTest, AGroupThatGivesUpKeepsNothingOfTheOthersBack) {
  std::optional<StepRecorder::GroupPart> given_up(std::in_place, steps_, 5);
  {
    StepRecorder::GroupPart part(steps_, 10);
    part.End({.step = 4}, 60);
  }
  EXPECT_TRUE(Recorded().empty());
  given_up.reset();
  ASSERT_EQ(Recorded().size(), 1u);
  EXPECT_EQ(Recorded()[0].start_ns, 10);
}

TEST_F(StepRecorderTest, WhatBeginsAfterAPartHasEndedIsAnotherStep) {
  StepRecorder::GroupPart never_ends(steps_, 0);
  for (std::int64_t step = 0; step < 3; ++step) {
    StepRecorder::GroupPart part(steps_, 100 * step);
    part.End({.step = step}, 100 * step + 50);
  }
  EXPECT_EQ(Recorded().size(), 2u) << "the last one may still be joined";
}

}  // namespace
}  // namespace weir
