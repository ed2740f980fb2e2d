#include "common/supervision/rank_totals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/supervision/supervision.h"
#include "weir/error.h"

namespace weir {
namespace {

RankTotals Sample() {
  RankTotals totals;
  totals.durations.Add(5'000'000);
  totals.durations.Add(7'000'000);
  totals.duration_ns = 12'000'000;
  totals.communication_ns = 3;
  totals.compression_ns = 4;
  totals.exchange_ns = 5;
  totals.payload_bytes = 6;
  totals.dense_bytes = std::uint64_t{1} << 60;
  totals.sent_bytes = 8;
  totals.lost_records = 9;
  totals.samples = 11;
  totals.stalled_tensors = 10;
  totals.stalled = {"a", "\"b\""};
  totals.divergences = {"what 'g' keeps back has grown"};
  totals.choices = {{.group = "g", .forms = "dgc", .step_ns = 12, .dense_step_ns = 13},
                    {.group = "h", .forms = "dense", .step_ns = 14, .dense_was_tried = true}};
  return totals;
}

void ExpectEqual(const RankTotals& a, const RankTotals& b) {
  EXPECT_EQ(a.durations.classes(), b.durations.classes());
  EXPECT_EQ(a.duration_ns, b.duration_ns);
  EXPECT_EQ(a.communication_ns, b.communication_ns);
  EXPECT_EQ(a.compression_ns, b.compression_ns);
  EXPECT_EQ(a.exchange_ns, b.exchange_ns);
  EXPECT_EQ(a.payload_bytes, b.payload_bytes);
  EXPECT_EQ(a.dense_bytes, b.dense_bytes);
  EXPECT_EQ(a.sent_bytes, b.sent_bytes);
  EXPECT_EQ(a.lost_records, b.lost_records);
  EXPECT_EQ(a.samples, b.samples);
  EXPECT_EQ(a.stalled_tensors, b.stalled_tensors);
  EXPECT_EQ(a.stalled, b.stalled);
  EXPECT_EQ(a.divergences, b.divergences);
  EXPECT_EQ(a.choices, b.choices);
}

TEST(RankTotals, ComeOutOfTheirTextAsTheyWere) {
  ExpectEqual(ParseRankTotals(ToText(Sample())), Sample());
  ExpectEqual(ParseRankTotals(ToText({})), {});
}

TEST(RankTotals, HoweverManyDurationsThereWereTheTextIsOneMessage) {
  RankTotals totals = Sample();
  for (int number = 0; number < DurationHistogram::kClasses; ++number) {
    totals.durations.AddToClass(number, 4'000'000'000);
  }
  EXPECT_LT(ToText(totals).size(), supervision::kMaxText);
}

TEST(RankTotals, TheLastChoiceOfAGroupCounts) {
  RankTotals first = Sample(), later;
  later.choices = {{.group = "g", .forms = "fp16", .step_ns = 5}};
  first.Merge(later);
  EXPECT_EQ(first.choices, (std::vector<FormChoice>{Sample().choices[1], later.choices[0]}));
}

TEST(RankTotals, OfTwoEnginesAreAddedUp) {
  RankTotals both = Sample();
  both.Merge(Sample());
  EXPECT_EQ(both.steps(), 4U);
  EXPECT_EQ(both.duration_ns, 24'000'000);
  EXPECT_EQ(both.communication_ns, 6);
  EXPECT_EQ(both.compression_ns, 8);
  EXPECT_EQ(both.exchange_ns, 10);
  EXPECT_EQ(both.payload_bytes, 12U);
  EXPECT_EQ(both.dense_bytes, std::uint64_t{1} << 61);
  EXPECT_EQ(both.sent_bytes, 16U);
  EXPECT_EQ(both.lost_records, 18U);
  EXPECT_EQ(both.samples, 22U);
  EXPECT_EQ(both.stalled_tensors, 20U);
  EXPECT_THAT(both.stalled, testing::SizeIs(4));
  EXPECT_THAT(both.divergences, testing::SizeIs(2));
}

TEST(RankTotals, WhatIsNoneIsCorrupt) {
  std::string cut = ToText(Sample());
  cut.resize(cut.size() / 2);
  std::string beyond = ToText(Sample());
  const std::string list = R"("durations":[)";
  beyond.insert(beyond.find(list) + list.size(), "[99999,1],");
  const auto with_duration = [](const std::string& number) {
    std::string text = ToText(Sample());
    const std::string member = R"("duration_ns":)";
    const auto at = text.find(member) + member.size();
    return text.replace(at, text.find(',', at) - at, number);
  };
  ASSERT_EQ(ParseRankTotals(with_duration("-7")).duration_ns, -7);
  for (const std::string& text :
       {std::string(), cut, std::string("{}"), std::string("[1]"), beyond, with_duration("1.5"),
        with_duration("1e30"), with_duration("9223372036854775808"), with_duration("\"1\""),
        with_duration("[1]")}) {
    EXPECT_THROW(ParseRankTotals(text), Corrupt) << text;
  }
}

}  // namespace
}  // namespace weir
