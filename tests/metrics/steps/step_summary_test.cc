#include "metrics/steps/step_summary.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(StepSummaries, AStepHasWhatItsOwnExchangesSent) {
  BucketNames names;
  names.Add({.name = "conv", .compressor = "dgc"});
  StepSummaries summaries(names);
  const auto exchange = [&](std::int64_t step, bool ok) {
    return summaries.Add({.start_ns = 20,
                          .end_ns = 50,
                          .step = step,
                          .bytes_in = 5,
                          .bytes_out = 400,
                          .stage = Stage::kExchange,
                          .ok = ok});
  };
  EXPECT_EQ(summaries.Add({.start_ns = 0, .end_ns = 10, .step = 7, .stage = Stage::kQueue}),
            std::nullopt);
  exchange(7, true);
  exchange(7, true);
  exchange(7, false);  // Failed: sent nothing.
  exchange(-1, true);  // A single operation beside the step.
  const auto step = summaries.Add({.start_ns = 5, .end_ns = 60, .step = 7, .stage = Stage::kStep});
  ASSERT_TRUE(step);
  EXPECT_EQ(step->step, 7);
  EXPECT_EQ(step->start_ns, 5);
  EXPECT_EQ(step->end_ns, 60);
  EXPECT_EQ(step->payload_bytes, 10u);
  EXPECT_EQ(step->dense_bytes, 800u);
  EXPECT_EQ(step->exposed.communication_ns, 30);

  const auto next = summaries.Add({.start_ns = 60, .end_ns = 70, .step = 8, .stage = Stage::kStep});
  EXPECT_EQ(next->payload_bytes, 0u);
  EXPECT_EQ(next->dense_bytes, 0u);
}

TEST(StepSummaries, AStepLastsFromTheEndOfTheOneBeforeAndAGapFromItsBeginning) {
  const BucketNames names;
  StepSummaries summaries(names);
  const auto step = [&](std::int64_t number, std::int64_t start_ns, std::int64_t end_ns) {
    return *summaries.Add(
        {.start_ns = start_ns, .end_ns = end_ns, .step = number, .stage = Stage::kStep});
  };
  EXPECT_EQ(step(0, 90, 100).start_ns, 90);
  const StepSummary next = step(1, 115, 120);
  EXPECT_EQ(next.start_ns, 100);
  EXPECT_EQ(next.begin_ns, 115);
  EXPECT_EQ(next.end_ns, 120);
  EXPECT_EQ(step(1, 130, 140).start_ns, 120) << "another optimizer's, one after the other";
  EXPECT_EQ(step(2, 150, 160).start_ns, 140);
  EXPECT_EQ(step(7, 1000, 1005).start_ns, 1000) << "steps are missing in between";
  EXPECT_EQ(step(0, 2000, 2010).start_ns, 2000) << "begun anew";
}

}  // namespace
}  // namespace weir
