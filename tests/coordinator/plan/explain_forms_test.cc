// What is said of a search, for people and for readers of the run log.
#include "coordinator/plan/explain_forms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::explain_forms_test {
namespace {

constexpr BucketForm kDgc = BucketForm::kCompressed;
constexpr BucketForm kDense = BucketForm::kDense;
constexpr double kWork = 0.004;  // Of dgc, in each bucket.

const PlanWords kWords{
    .compressor = "dgc",
    .buckets = {{.name = "conv", .compressor = "dgc"}, {.name = "bias", .compressor = "powersgd"}}};

/// Two buckets, of which the second one has nothing to choose, on a network that carries 1 MB/s.
StepObservation StepOf(const StepPlan& plan, double dense_bytes) {
  const bool dense = plan[0] == kDense;
  const double bytes = dense ? dense_bytes : 1000.0;
  StepObservation step{.plan = plan, .seconds = 0.1 + bytes / 1e6, .buckets = {}};
  for (const BucketForm form : plan) {
    step.buckets.push_back({.ready = 0.1,
                            .encode = form == kDense ? 0.0 : kWork,
                            .exchange_begin = 0.1,
                            .exchange_end = step.seconds,
                            .bytes = {0.0, 0.0, 500.0, 0.0, 0.0, dense_bytes / 2}});
  }
  return step;
}

FormTuner Searched(double dense_bytes) {
  FormTuner tuner({{kDgc, kDense}, {kDgc}});
  tuner.SetNetwork({.seconds_per_message = 0.0, .bytes_per_second = 1e6});
  for (int step = 0; step < 60 && !tuner.settled(); ++step) {
    tuner.Observe(StepOf(tuner.plan(), dense_bytes));
  }
  return tuner;
}

TEST(ExplainForms, WhatIsTriedIsSaidBeforeItIsChosen) {
  const PlanExplanation plan = ExplainForms(FormTuner({{kDgc, kDense}, {kDgc}}), kWords);
  EXPECT_FALSE(plan.settled);
  EXPECT_EQ(plan.why, "tries dgc");
  EXPECT_TRUE(plan.considered.empty());
  ASSERT_EQ(plan.buckets.size(), 2u);
  EXPECT_EQ(plan.buckets[0].work.size(), 2u);
  EXPECT_FALSE(plan.buckets[0].work[0].seconds.has_value());
}

TEST(ExplainForms, WhatIsHopelessHasThePredictionOfItsBytes) {
  const PlanExplanation plan = ExplainForms(Searched(40e6), kWords);
  EXPECT_TRUE(plan.settled);
  EXPECT_THAT(plan.why, testing::StartsWith("dgc: the network carries 8 Mb/s, dgc works 8 ms"));
  EXPECT_EQ(plan.network_bytes_per_second, 1e6);
  ASSERT_EQ(plan.considered.size(), 2u);
  EXPECT_EQ(plan.considered[0].what, "dgc");
  EXPECT_TRUE(plan.considered[0].chosen);
  EXPECT_NEAR(plan.considered[0].measured_seconds.value_or(0), 0.101, 1e-6);
  EXPECT_GE(plan.considered[0].steps, 3u);
  EXPECT_EQ(plan.considered[1].what, "dense (1 bucket), dgc (1)");
  EXPECT_FALSE(plan.considered[1].measured_seconds.has_value());
  EXPECT_NEAR(plan.considered[1].bytes_seconds.value_or(0), 20.0005, 1e-4);
}

TEST(ExplainForms, ABucketIsInItsFormAndHasTheWorkOfThoseThatWereSeen) {
  const PlanExplanation plan = ExplainForms(Searched(100.0), kWords);
  ASSERT_EQ(plan.buckets.size(), 2u);
  EXPECT_EQ(plan.buckets[0].form, "dense");
  EXPECT_EQ(plan.buckets[1].form, "powersgd");
  ASSERT_EQ(plan.buckets[0].work.size(), 2u);
  EXPECT_EQ(plan.buckets[0].work[0].form, "dgc");
  EXPECT_NEAR(plan.buckets[0].work[0].seconds.value_or(0), kWork, 1e-9);
  EXPECT_EQ(plan.buckets[0].work[1].form, "dense");
  EXPECT_TRUE(plan.buckets[0].work[1].seconds.has_value());
  EXPECT_EQ(plan.buckets[1].work.size(), 1u);
  EXPECT_TRUE(plan.considered[1].predicted_seconds.has_value());
}

TEST(ExplainForms, WhereSendingTakesMostOfTheStepServersAreNamed) {
  FormTuner tuner({{kDgc, kDense}, {kDgc}});
  tuner.SetNetwork({.seconds_per_message = 0.0, .bytes_per_second = 1e4});
  for (int step = 0; step < 60 && !tuner.settled(); ++step) {
    tuner.Observe(StepOf(tuner.plan(), 40e6));  // 1000 bytes of 0.101 s.
  }
  PlanWords words = kWords;
  words.ranks = 4;
  EXPECT_THAT(ExplainForms(tuner, words).why,
              testing::EndsWith("; sending takes 99 % of the step: push_pull, if it was among the "
                                "choices, would send 50 % of that, and compress the sum once "
                                "more"));
  words.ranks = 2;
  EXPECT_THAT(ExplainForms(tuner, words).why, testing::Not(testing::HasSubstr("push_pull")));
  EXPECT_THAT(ExplainForms(Searched(40e6), kWords).why,
              testing::Not(testing::HasSubstr("push_pull")));
}

TEST(ExplainForms, WhatThePassLosesToCompressionIsSaid) {
  FormTuner tuner({{kDgc, kDense}, {kDgc, kDense}});
  tuner.SetNetwork({.seconds_per_message = 0.001, .bytes_per_second = 1e9});
  for (int step = 0; step < 60 && !tuner.settled(); ++step) {
    StepObservation seen = StepOf(tuner.plan(), 1e5);
    const bool compressed = tuner.plan()[0] == kDgc;
    // In a pass of 0.1 s, 0.04 s of work make it 0.01 s longer.
    seen.buckets[0].ready = 0.02;
    seen.buckets[0].encode = compressed ? 0.04 : 0.0;
    seen.buckets[1].ready = compressed ? 0.11 : 0.1;
    seen.buckets[1].exchange_end = seen.buckets[0].exchange_end = seen.seconds;
    tuner.Observe(seen);
  }
  const PlanExplanation plan = ExplainForms(tuner, kWords);
  ASSERT_TRUE(plan.settled);
  EXPECT_THAT(plan.why, testing::EndsWith("; the backward pass takes 10 ms longer beside it"));
  EXPECT_NEAR(plan.kappa.value_or(-1), 1.0 / 3.0, 1e-6);
  EXPECT_EQ(plan.network_seconds_per_message, 0.001);
}

}  // namespace
}  // namespace weir::explain_forms_test
