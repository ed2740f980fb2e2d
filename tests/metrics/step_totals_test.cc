#include "metrics/step_totals.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr std::int64_t kMs = 1'000'000;

StepSummary Step(std::int64_t number, std::int64_t start_ms, std::int64_t end_ms) {
  return {.step = number,
          .start_ns = start_ms * kMs,
          .end_ns = end_ms * kMs,
          .exposed = {.communication_ns = 3, .compression_ns = 2},
          .exchange_ns = 7,
          .payload_bytes = 10,
          .dense_bytes = 1000};
}

TEST(StepTotals, AStepLastsFromTheEndOfTheOneBefore) {
  StepTotals totals;
  totals.Add(Step(0, 90, 100));
  totals.Add(Step(1, 115, 120));
  const RankTotals all = totals.totals();
  EXPECT_EQ(all.steps(), 2U);
  EXPECT_EQ(all.duration_ns, 30 * kMs) << "10 of the first, 20 from its end to that of the second";
  EXPECT_EQ(all.communication_ns, 6);
  EXPECT_EQ(all.compression_ns, 4);
  EXPECT_EQ(all.exchange_ns, 14);
  EXPECT_EQ(all.payload_bytes, 20U);
  EXPECT_EQ(all.dense_bytes, 2000U);
}

TEST(StepTotals, AfterAGapInTheNumbersAStepBeginsByItself) {
  StepTotals totals;
  totals.Add(Step(0, 0, 10));
  totals.Add(Step(7, 1000, 1005));
  EXPECT_EQ(totals.totals().duration_ns, 15 * kMs);
}

TEST(StepTotals, GroupsOfGradientsTakeAStepTogether) {
  StepTotals totals;
  totals.Add(Step(4, 0, 10));
  totals.Add(Step(4, 2, 13));
  totals.Add(Step(5, 20, 30));
  totals.Add(Step(5, 22, 33));
  const RankTotals all = totals.totals();
  EXPECT_EQ(all.steps(), 2U);
  EXPECT_EQ(all.duration_ns, 33 * kMs);
  EXPECT_EQ(all.payload_bytes, 40U);
}

TEST(StepTotals, AskingInBetweenChangesNothing) {
  StepTotals totals;
  totals.Add(Step(4, 0, 10));
  EXPECT_EQ(totals.totals().steps(), 1U);
  totals.Add(Step(4, 2, 13));
  EXPECT_EQ(totals.totals().steps(), 1U);
  EXPECT_EQ(totals.totals().duration_ns, 13 * kMs);
}

}  // namespace
}  // namespace weir
