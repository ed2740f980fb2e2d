#include "common/summary/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/summary/job_totals.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kMs = 1'000'000;

/// Steps of 10 ms, `waiting_ms` of which exposed communication.
RankTotals Steps(int count, std::int64_t waiting_ms) {
  RankTotals totals;
  for (int i = 0; i < count; ++i) totals.durations.Add(10 * kMs);
  totals.duration_ns = 10 * kMs * count;
  totals.communication_ns = waiting_ms * kMs * count;
  totals.exchange_ns = totals.communication_ns;
  totals.dense_bytes = 1000U * static_cast<unsigned>(count);
  totals.sent_bytes = 10U * static_cast<unsigned>(count);
  return totals;
}

const RankPlaces kPlaces({"a", "a", "b"});

std::vector<std::string> Kinds(const Summary& summary) {
  std::vector<std::string> kinds;
  for (const auto& warning : summary.warnings) kinds.push_back(warning.kind);
  return kinds;
}

TEST(Summary, TheRankWithTheMostWorkOfItsOwnDefinesTheStep) {
  const auto summary = Summarize({Steps(100, 4), Steps(100, 2), Steps(100, 3)}, kPlaces);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->pace().rank, 1);
  EXPECT_NEAR(summary->pace().own_seconds(), 8e-3, 1e-9);
  EXPECT_NEAR(summary->pace().exposed_communication_ratio(), 0.2, 1e-9);
  EXPECT_NEAR(summary->slowest_excess, 8.0 / 7.0 - 1.0, 1e-9);
  EXPECT_THAT(summary->warnings, testing::IsEmpty());
}

TEST(Summary, BytesAreThoseOfAllRanksAgainstADenseAllReduceAmongThem) {
  const auto summary = Summarize({Steps(100, 4), Steps(100, 2), Steps(100, 3)}, kPlaces);
  EXPECT_EQ(summary->sent_bytes, 3000U);
  EXPECT_EQ(summary->dense_bytes, 400'000U) << "3 ranks, each 4/3 of 100,000 bytes";
  EXPECT_THAT(SummaryLines(*summary)[1],
              HasSubstr("sent 3 kB for gradients, where dense all-reduce would have sent 400 kB: "
                        "133 times as much"));
}

TEST(Summary, SaysTheFiguresOfTheStep) {
  const auto lines =
      SummaryLines(*Summarize({Steps(100, 4), Steps(100, 2), Steps(100, 3)}, kPlaces));
  EXPECT_THAT(lines,
              ElementsAre(HasSubstr("100 steps: "), HasSubstr("sent "),
                          HasSubstr("slowest: rank 1 on a, 8 ms of own work in a step, 14.3 % "
                                    "more than the median rank")));
  EXPECT_THAT(lines[0], HasSubstr("exposed communication 20.0 %, exposed compression 0.0 %"));
}

TEST(Summary, SaysWhatAutoHasGained) {
  RankTotals first = Steps(100, 4);
  first.choices = {
      {.group = "a",
       .forms = "dgc",
       .step_ns = 20'000'000,
       .dense_step_ns = 50'000'000,
       .dense_was_tried = true},
      {.group = "b", .forms = "dgc", .step_ns = 20'000'000, .dense_step_ns = 3'000'000'000},
      {.group = "c",
       .forms = "dense",
       .step_ns = 20'000'000,
       .dense_step_ns = 20'000'000,
       .dense_was_tried = true},
      {.group = "d", .forms = "fp16", .step_ns = 20'000'000}};
  const auto lines = SummaryLines(*Summarize({first, Steps(100, 4)}, RankPlaces({"a", "b"})));
  ASSERT_THAT(lines, testing::SizeIs(7));
  EXPECT_EQ(lines[3],
            "auto: 'a' travels as dgc, 20 ms a step, where dense took 50 ms, 2.5 times as long "
            "(medians of the steps tried)\n");
  EXPECT_EQ(
      lines[4],
      "auto: 'b' travels as dgc, 20 ms a step, where the bytes of dense alone would take 3 s\n");
  EXPECT_EQ(lines[5], "auto: 'c' travels as dense, 20 ms a step: compression gained nothing\n");
  EXPECT_EQ(lines[6], "auto: 'd' travels as fp16, 20 ms a step\n");
}

TEST(Summary, OneRankHasNobodyToWaitForNorToSendTo) {
  const auto summary = Summarize({Steps(10, 0)}, RankPlaces({"a"}));
  EXPECT_EQ(summary->dense_bytes, 0U);
  EXPECT_THAT(SummaryLines(*summary), testing::SizeIs(1));
}

TEST(Summary, SamplesASecondAreThoseOfAllRanksTogether) {
  std::vector<RankTotals> ranks(3, Steps(100, 1));  // 10 ms each.
  for (RankTotals& rank : ranks) rank.samples = 3200;
  const auto summary = Summarize(ranks, kPlaces);
  EXPECT_NEAR(summary->samples_per_second.value_or(0), 9600, 1e-6);
  EXPECT_THAT(SummaryLines(*summary)[0], HasSubstr("; 9600 samples/s\n"));
  EXPECT_EQ(nlohmann::json::parse(SummaryJson(*summary, 0))["samples_per_second"],
            *summary->samples_per_second);
}

TEST(Summary, SamplesASecondAreLeftOutWhereARankDoesNotSayHowMany) {
  std::vector<RankTotals> ranks(3, Steps(100, 1));
  for (RankTotals& rank : ranks) rank.samples = 3200;
  std::vector<RankTotals> unknown = ranks;
  unknown[1].samples = 0;
  std::vector<RankTotals> silent = ranks;
  silent[1] = {};
  for (const auto& job : {unknown, silent}) {
    const auto summary = Summarize(job, kPlaces);
    EXPECT_FALSE(summary->samples_per_second);
    EXPECT_THAT(SummaryLines(*summary)[0], testing::Not(HasSubstr("samples")));
    EXPECT_FALSE(nlohmann::json::parse(SummaryJson(*summary, 0)).contains("samples_per_second"));
  }
}

TEST(Summary, CountsConnectionsThatWereTurnedAway) {
  auto summary = Summarize({Steps(10, 0)}, RankPlaces({"a"}));
  EXPECT_EQ(nlohmann::json::parse(SummaryJson(*summary, 0))["turned_away_connections"], 0);
  summary->turned_away = 7;
  EXPECT_EQ(nlohmann::json::parse(SummaryJson(*summary, 0))["turned_away_connections"], 7);
}

TEST(Summary, ThereIsNoneWhereNobodyTookAStep) { EXPECT_FALSE(Summarize({{}, {}, {}}, kPlaces)); }

TEST(Summary, WarnsOfARankThatIsFarSlower) {
  const auto summary = Summarize({Steps(100, 6), Steps(100, 2), Steps(100, 6)}, kPlaces);
  EXPECT_THAT(Kinds(*summary), ElementsAre("slow_rank"));
  EXPECT_THAT(SummaryLines(*summary).back(),
              HasSubstr("unusual: rank 1 on a works 100 % longer at a step than the median rank"));
}

TEST(Summary, WarnsOfCompressionThatTookLongerThanItSaved) {
  // 10 bytes a step took 1 ms, so that the 1,323 bytes that were not sent are worth 132 ms.
  std::vector<RankTotals> ranks(3, Steps(100, 1));
  for (RankTotals& rank : ranks) rank.compression_ns = 100 * 9 * kMs / 10;
  EXPECT_THAT(Kinds(*Summarize(ranks, kPlaces)), testing::IsEmpty());
  for (RankTotals& rank : ranks) rank.compression_ns = 100 * 2 * kMs;
  const auto costly = Summarize(ranks, kPlaces);
  EXPECT_THAT(Kinds(*costly), ElementsAre("exposed_compression"));
  EXPECT_THAT(costly->warnings[0].text, HasSubstr("for 20 % of their time, 2 ms"));
  for (RankTotals& rank : ranks) rank.exchange_ns = 100 * kMs / 100;
  const auto summary = Summarize(ranks, kPlaces);
  EXPECT_THAT(Kinds(*summary), ElementsAre("compression_too_slow"));
  EXPECT_THAT(summary->warnings[0].text, HasSubstr("2 ms of a step"));
  for (RankTotals& rank : ranks) rank.compression_ns = 100 * kMs / 20;  // Half a percent.
  EXPECT_THAT(Kinds(*Summarize(ranks, kPlaces)), testing::IsEmpty());
}

TEST(Summary, WarnsOfStallsOfGapsAndOfRanksThatSaidNothing) {
  std::vector<RankTotals> ranks(3, Steps(100, 1));
  ranks[0].stalled_tensors = 3;
  ranks[0].stalled = {"conv1", "conv2"};
  ranks[1].lost_records = 17;
  ranks[2] = {};
  const auto summary = Summarize(ranks, kPlaces);
  EXPECT_THAT(Kinds(*summary), ElementsAre("stalled_tensors", "no_figures", "lost_records"));
  EXPECT_THAT(
      summary->warnings[0].text,
      HasSubstr("rank 0 on a waited too long for other ranks with 3 tensors: conv1, conv2, ..."));
  EXPECT_THAT(summary->warnings[1].text, HasSubstr("rank 2 on b did not report its steps"));
  EXPECT_THAT(summary->warnings[2].text, HasSubstr("rank 1 on a lack 17 records"));
}

TEST(Summary, TellsFirstThatTrainingDiverges) {
  std::vector<RankTotals> ranks(3, Steps(100, 1));
  ranks[0].divergences = {"what 'g' keeps back has grown for 200 steps"};
  ranks[1].lost_records = 17;
  const auto summary = Summarize(ranks, kPlaces);
  EXPECT_THAT(Kinds(*summary), ElementsAre("divergence", "lost_records"));
  EXPECT_THAT(SummaryLines(*summary),
              testing::Contains("unusual: what 'g' keeps back has grown for 200 steps\n"));
}

TEST(Summary, ServersAreNoRanks) {
  const auto summary = Summarize({Steps(10, 1), Steps(10, 1), {}}, RankPlaces({"a", "a", "a"}, 1));
  EXPECT_EQ(summary->job_ranks, 2U);
  EXPECT_THAT(summary->warnings, testing::IsEmpty());
}

TEST(JobTotals, TheLastWordOfAnEngineCountsAndEnginesAreAddedUp) {
  JobTotals totals(2);
  totals.OnAttach(1);
  totals.OnTotals(1, ToText(Steps(3, 1)));
  totals.OnTotals(1, ToText(Steps(5, 1)));
  EXPECT_EQ(totals.All()[1].steps(), 5U);
  totals.OnAttach(1);
  totals.OnTotals(1, ToText(Steps(2, 1)));
  EXPECT_EQ(totals.All()[1].steps(), 7U);
  EXPECT_EQ(totals.All()[0].steps(), 0U);
}

TEST(JobTotals, WhatCannotBeReadCountsForNothing) {
  JobTotals totals(1);
  totals.OnTotals(0, ToText(Steps(3, 1)));
  totals.OnAttach(0);
  totals.OnTotals(0, "nonsense");
  EXPECT_EQ(totals.All()[0].steps(), 3U);
}

}  // namespace
}  // namespace weir
