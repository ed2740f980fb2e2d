#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/summary/job_totals.h"
#include "common/summary/summary.h"

// Summaries of jobs whose ranks come and go.

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// Steps of 10 ms and 100 bytes each, of which 10 were sent.
RankTotals Made(int steps) {
  constexpr std::int64_t kStep = 10'000'000;
  RankTotals totals;
  for (int i = 0; i < steps; ++i) totals.durations.Add(kStep);
  totals.duration_ns = kStep * steps;
  totals.dense_bytes = 100U * static_cast<unsigned>(steps);
  totals.sent_bytes = 10U * static_cast<unsigned>(steps);
  totals.samples = 4U * static_cast<unsigned>(steps);
  return totals;
}

/// Five processes: three begin, 1 dies after 20 steps, 0 after 30 more, 3 comes then for 60 steps
/// with 2; 4 is started and never joins.
class ElasticSummary : public testing::Test {
 protected:
  ElasticSummary() : places_({"a", "a", "b", "b", "b"}) {
    places_.SetRanks({0, 1, 0, 1, -1});
    for (const int p : {0, 1, 2}) Take(p, 1, p == 1 ? 19 : 20);
    for (const int p : {0, 2}) Take(p, 2, 30);
    for (const int p : {2, 3}) Take(p, 3, 60);
    elastic_ = totals_.Elastic();
  }
  void Take(int process, int epoch, int steps) {
    totals_.OnAttach(process);
    totals_.OnPlace(process, epoch);
    totals_.OnTotals(process, ToText(Made(steps / 2)));
    totals_.OnTotals(process, ToText(Made(steps)));
  }

  JobTotals totals_{5};
  RankPlaces places_;
  ElasticTotals elastic_;
};

TEST_F(ElasticSummary, StepsAreThoseOfAllEpochs) {
  const auto summary = Summarize(totals_.All(), places_, &elastic_);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->steps, 110U);
  EXPECT_THAT(SummaryLines(*summary)[0], HasSubstr("110 steps: "));
  const auto json = nlohmann::json::parse(SummaryJson(*summary, 0));
  EXPECT_EQ(json["steps"], 110);
  EXPECT_EQ(json["ranks"], 3);
}

TEST_F(ElasticSummary, BytesAreCountedAmongTheRanksOfEachEpoch) {
  const auto summary = Summarize(totals_.All(), places_, &elastic_);
  EXPECT_EQ(summary->sent_bytes, 10U * (20 + 19 + 20 + 30 + 30 + 60 + 60));
  const auto dense = static_cast<std::uint64_t>(100.0 * (59 * 4.0 / 3.0 + 180));
  EXPECT_EQ(summary->dense_bytes, dense) << "three ranks send 4/3 of their bytes each, two 1";
}

TEST_F(ElasticSummary, SamplesASecondAreThoseOfTheJobsTime) {
  const auto summary = Summarize(totals_.All(), places_, &elastic_);
  EXPECT_NEAR(summary->samples_per_second.value_or(0), 4 * 239 / 1.1, 1e-6);
}

TEST_F(ElasticSummary, OnlyThoseThatWereInItOwedFigures) {
  auto all = totals_.All();
  all[0] = {};
  const auto summary = Summarize(all, places_, &elastic_);
  ASSERT_EQ(summary->warnings.size(), 1U);
  EXPECT_THAT(summary->warnings[0].text, HasSubstr("rank 0 on a did not report its steps"));
}

TEST_F(ElasticSummary, TheSlowestIsNoneThatWasThereForAShortTime) {
  auto all = totals_.All();
  all[1].duration_ns *= 9;
  const auto summary = Summarize(all, places_, &elastic_);
  EXPECT_NE(summary->pace().rank, 1);
  EXPECT_THAT(SummaryLines(*summary), Not(testing::Contains(HasSubstr("unusual"))));
  all[3].duration_ns *= 2;
  EXPECT_THAT(SummaryLines(*Summarize(all, places_, &elastic_)).back(),
              HasSubstr("rank 1 (process 3 of the output) on b works 100 % longer"));
}

TEST_F(ElasticSummary, RanksAreNamedWithTheNumberOfTheirOutput) {
  EXPECT_EQ(places_.Of({0, 1, 2, 3, 4}),
            "ranks 0-1 on a, rank 0 (process 2 of the output) on b, rank 1 (process 3 of the "
            "output) on b, process 4 of the output on b");
}

}  // namespace
}  // namespace weir
