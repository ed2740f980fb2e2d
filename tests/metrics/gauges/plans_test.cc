// Plans as texts, as JSON, and as a list of changes.
#include "metrics/gauges/plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weir::plans_test {
namespace {

using By = PlanExplanation::By;
using WhyNot = PlanExplanation::WhyNot;
using nlohmann::json;

PlanExplanation Chosen() {
  return {.group = "model",
          .time_ns = 7,
          .from_step = 12,
          .by = By::kMeasurement,
          .what = "dense",
          .why = "dense: the network carries 8 Mb/s",
          .network_bytes_per_second = 1e6,
          .network_seconds_per_message = 0.002,
          .kappa = 0.25,
          .considered = {{.what = "dense",
                          .chosen = true,
                          .bytes_seconds = 0.5,
                          .predicted_seconds = 0.75,
                          .measured_seconds = 0.8,
                          .steps = 9},
                         {.what = "dgc", .bytes_seconds = 20.0, .not_tried = WhyNot::kBytes},
                         {.what = "int8",
                          .bytes_seconds = 0.1,
                          .predicted_seconds = 2.0,
                          .not_tried = WhyNot::kSeenBefore},
                         {.what = "fp16", .bytes_seconds = 0.1, .not_tried = WhyNot::kEnoughTried}},
          .buckets = {{.name = "conv",
                       .form = "dense",
                       .work = {{.form = "dense", .seconds = 0.002}, {.form = "dgc"}}}}};
}

PlanExplanation Tried() {
  return {.group = "model",
          .from_step = 3,
          .by = By::kMeasurement,
          .settled = false,
          .what = "fp16",
          .why = "tries fp16"};
}

TEST(Plans, ATextHasTheSentenceWhatWasConsideredAndTheBuckets) {
  EXPECT_EQ(PlanText(Chosen()),
            "since step 12, dense: the network carries 8 Mb/s\n"
            "  dense: 800 ms a step (median of 9), chosen\n"
            "  dgc: not tried, as its bytes alone would take about 20 s\n"
            "  int8: not tried, as its step would take about 2 s, by what was seen before\n"
            "  fp16: not tried, as enough others were\n"
            "  conv: dense; dense works 2 ms");
}

TEST(Plans, WhatOptionsDecideIsOneLine) {
  EXPECT_EQ(PlanText({.why = "dgc, as told", .buckets = {{.name = "conv", .form = "dgc"}}}),
            "since step 0, dgc, as told");
}

TEST(Plans, WhatWasChosenIsKeptForTheSummary) {
  PlanNotes notes;
  notes.Note(Tried());
  notes.Note({.group = "other", .by = By::kOptions, .what = "dgc", .why = "dgc, as told"});
  EXPECT_THAT(notes.Choices(), testing::IsEmpty());
  notes.Note(Chosen());
  notes.Forget("model");
  EXPECT_EQ(notes.Choices(), (std::vector<FormChoice>{{.group = "model",
                                                       .forms = "dense",
                                                       .step_ns = 800'000'000,
                                                       .dense_step_ns = 800'000'000,
                                                       .dense_was_tried = true}}));
  PlanExplanation without = Chosen();
  without.what = "dgc";
  without.considered = {{.what = "dgc", .chosen = true, .measured_seconds = 0.25},
                        {.what = "dense", .bytes_seconds = 2.0, .not_tried = WhyNot::kBytes}};
  notes.Note(without);
  EXPECT_EQ(notes.Choices(), (std::vector<FormChoice>{{.group = "model",
                                                       .forms = "dgc",
                                                       .step_ns = 250'000'000,
                                                       .dense_step_ns = 2'000'000'000}}));
}

TEST(Plans, ABlockHasAllNumbersAndNullForUnknownOnes) {
  const json block = json::parse(PlanBlock(Chosen()));
  EXPECT_EQ(block["time_ns"], 7);
  EXPECT_EQ(block["group"], "model");
  EXPECT_EQ(block["from_step"], 12);
  EXPECT_EQ(block["by"], "measurement");
  EXPECT_EQ(block["settled"], true);
  EXPECT_EQ(block["what"], "dense");
  EXPECT_EQ(block["network_bytes_per_second"], 1e6);
  EXPECT_EQ(block["network_seconds_per_message"], 0.002);
  EXPECT_EQ(block["kappa"], 0.25);
  EXPECT_EQ(block["considered"][0],
            json::parse(R"({"what": "dense", "chosen": true, "bytes_seconds": 0.5,
                            "predicted_seconds": 0.75, "measured_seconds": 0.8, "not_tried": null, "steps": 9})"));
  EXPECT_TRUE(block["considered"][1]["measured_seconds"].is_null());
  EXPECT_EQ(block["considered"][1]["not_tried"], "bytes");
  EXPECT_EQ(block["considered"][2]["not_tried"], "seen_before");
  EXPECT_EQ(block["considered"][3]["not_tried"], "enough_tried");
  EXPECT_EQ(block["buckets"], json::parse(R"([{"name": "conv", "form": "dense",
                             "work_seconds": {"dense": 0.002, "dgc": null}}])"));
  EXPECT_TRUE(json::parse(PlanBlock(Tried()))["network_bytes_per_second"].is_null());
  EXPECT_TRUE(json::parse(PlanBlock(Tried()))["kappa"].is_null());
}

TEST(PlanNoteList, TheTextHasWhatHoldsAndNotWhatIsTried) {
  PlanNotes notes;
  notes.Note(Tried());
  EXPECT_EQ(notes.Text(), "");
  notes.Note(Chosen());
  notes.Note(Tried());
  EXPECT_EQ(notes.Text(), "model: " + PlanText(Chosen()) + "\n");
  notes.Forget("model");
  EXPECT_EQ(notes.Text(), "");
}

TEST(PlanNoteList, EachIsThereOnceAndOldOnesAreDropped) {
  PlanNotes notes;
  std::uint64_t number = 0;
  EXPECT_TRUE(notes.After(number).empty());
  notes.Note(Tried());
  notes.Note(Chosen());
  const auto both = notes.After(number);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[1]->what, "dense");
  EXPECT_TRUE(notes.After(number).empty());
  for (std::size_t i = 0; i < PlanNotes::kMost + 5; ++i) notes.Note(Tried());
  notes.Note(Chosen());
  const auto kept = notes.After(number);
  EXPECT_EQ(kept.size(), PlanNotes::kMost);
  EXPECT_EQ(kept.back()->what, "dense");
  EXPECT_EQ(number, PlanNotes::kMost + 8);
}

}  // namespace
}  // namespace weir::plans_test
