#include "metrics/steps/step_totals.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(AddStep, SumsWhatStepsTook) {
  RankTotals totals{.sent_bytes = 9};
  const StepSummary step{.start_ns = 100,
                         .begin_ns = 130,
                         .end_ns = 150,
                         .exposed = {.communication_ns = 3, .compression_ns = 2},
                         .exchange_ns = 7,
                         .payload_bytes = 10,
                         .dense_bytes = 1000};
  AddStep(step, totals);
  AddStep(step, totals);
  EXPECT_EQ(totals.steps(), 2U);
  EXPECT_EQ(totals.duration_ns, 100) << "what lies before BeginStep counts";
  EXPECT_EQ(totals.communication_ns, 6);
  EXPECT_EQ(totals.compression_ns, 4);
  EXPECT_EQ(totals.exchange_ns, 14);
  EXPECT_EQ(totals.payload_bytes, 20U);
  EXPECT_EQ(totals.dense_bytes, 2000U);
  EXPECT_EQ(totals.sent_bytes, 9U);
}

}  // namespace
}  // namespace weir
