// Heads of a run log; tests/python_tools reads whole logs of real jobs.
#include "metrics/run_log/run_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "metrics/gauges/plans.h"
#include "metrics/gauges/stalls.h"
#include "metrics/run_log/block.h"
#include "tests/read_file.h"
#include "tests/temporary_folder.h"
#include "weir/error.h"

namespace weir {
namespace {

using nlohmann::json;

constexpr std::int64_t kSecond = 1'000'000'000;

/// The heads of all blocks; fails where one is not at the end of the one before.
std::vector<json> Heads(const std::string& bytes) {
  std::vector<json> heads;
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint32_t lengths[2];
    EXPECT_EQ(bytes.substr(at, 4), "WLOG");
    std::memcpy(lengths, bytes.data() + at + 8, sizeof lengths);
    heads.push_back(json::parse(bytes.substr(at + RunLogBlock::kPrefixBytes, lengths[0])));
    at += RunLogBlock::kPrefixBytes + lengths[0] + lengths[1];
    EXPECT_LE(at, bytes.size());
    EXPECT_EQ(at % 8, 0u) << "a reader that maps the file needs aligned columns";
  }
  return heads;
}

class RunLogTest : public testing::Test {
 protected:
  RunLogTest() {
    names_.Add({.name = "conv"});
    names_.Add({.name = "bias"});
  }
  std::vector<json> Written() const { return Heads(ReadFile(path_)); }
  std::vector<std::string> Kinds() const {
    std::vector<std::string> kinds;
    for (const json& head : Written()) kinds.push_back(head["kind"]);
    return kinds;
  }

  BucketNames names_;
  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "run.weirlog";
  RunLog log_{path_, {.rank = 0, .size = 2}, names_, "{}"};
};

TEST_F(RunLogTest, WhatWasFlushedIsInTheFileAtOnce) {
  EXPECT_THAT(Kinds(), testing::ElementsAre("run"));
  log_.Add(StageRecord{.step = 0, .bucket = 0, .stage = Stage::kExchange});
  log_.Add(StepSummary{.step = 0});
  log_.Flush(kSecond);
  EXPECT_THAT(Kinds(), testing::ElementsAre("run", "names", "stages", "steps"));
}

TEST_F(RunLogTest, WhoReadsThatOfAnEarlierJobKeepsIt) {
  std::ifstream reader(path_);
  const std::string before = ReadFile(path_);
  EXPECT_FALSE(before.empty());
  const RunLog next(path_, {.rank = 0, .size = 2}, names_, R"({"job": 2})");
  EXPECT_NE(ReadFile(path_), before);
  const std::string kept{std::istreambuf_iterator<char>(reader), {}};
  EXPECT_EQ(kept, before);
}

TEST_F(RunLogTest, ItWritesOnceASecondUnlessEverythingIsAskedFor) {
  log_.Flush(kSecond);
  log_.Add(StepSummary{.step = 0});
  log_.Flush(2 * kSecond - 1);
  EXPECT_THAT(Kinds(), testing::ElementsAre("run"));
  log_.Add(StepSummary{.step = 1});
  log_.Flush(2 * kSecond - 1, true);
  EXPECT_THAT(Kinds(), testing::ElementsAre("run", "steps"));
  EXPECT_EQ(Written().back()["rows"], 2);
}

TEST_F(RunLogTest, ABucketIsNamedOnceAndBeforeItsRecords) {
  for (const std::uint32_t bucket : {0u, 0u, 1u}) {
    log_.Add(StageRecord{.step = 0, .bucket = bucket});
    log_.Flush(0, true);
  }
  EXPECT_THAT(Kinds(), testing::ElementsAre("run", "names", "stages", "stages", "names", "stages"));
}

TEST_F(RunLogTest, LostRecordsAreCountedOnce) {
  log_.AddLost(3);
  log_.Flush(0, true);
  log_.Add(StageRecord{.step = 0});
  log_.Flush(0, true);
  const auto heads = Written();
  EXPECT_EQ(heads[1]["lost"], 3);
  EXPECT_EQ(heads[1]["rows"], 0);
  EXPECT_EQ(heads.back()["lost"], 0);
}

TEST_F(RunLogTest, TheMoreRanksAJobHasTheLessDetailEachKeeps) {
  constexpr std::size_t kMebi = std::size_t{1} << 20;
  EXPECT_EQ(RunLog::DetailBytes(1), 64 * kMebi);
  EXPECT_EQ(RunLog::DetailBytes(4), 64 * kMebi);
  EXPECT_EQ(RunLog::DetailBytes(8), 32 * kMebi);
  EXPECT_EQ(RunLog::DetailBytes(64), 4 * kMebi);
  EXPECT_EQ(RunLog::DetailBytes(10'000), 4 * kMebi) << "some is worth having of every rank";
}

TEST_F(RunLogTest, DetailGetsThinnerAsTheLogGrows) {
  constexpr std::int64_t kRowBytes = 8 * 5 + 4 * 3 + 3;
  const auto rows = static_cast<std::int64_t>(RunLog::DetailBytes(2)) / kRowBytes + 1;
  for (std::int64_t i = 0; i < rows; ++i) log_.Add(StageRecord{.step = 4});
  log_.Flush(0, true);
  for (std::int64_t step = 5; step < 15; ++step) {
    log_.Add(StageRecord{.step = step});
    log_.Add(StageRecord{.step = -1});
    log_.Add(StepSummary{.step = step});
  }
  log_.Flush(0, true);
  const auto heads = Written();
  EXPECT_EQ(heads[2]["rows"], rows);
  EXPECT_EQ(heads[2]["every"], 1);
  EXPECT_EQ(heads[3]["every"], 2);
  EXPECT_EQ(heads[3]["rows"], 5 + 10) << "even steps, and what belongs to none";
  EXPECT_EQ(heads[4]["rows"], 10) << "of steps themselves none is left out";
}

TEST_F(RunLogTest, AGradientsRowHasWhatWasMeasuredOfIt) {
  const std::uint32_t other = names_.Add({.name = "w", .elements = 7});
  log_.Add(StageRecord{.step = 0, .bucket = other, .density = 2.5f, .stage = Stage::kResidual});
  log_.Flush(0, true);  // The record that it belongs to is still to come.
  log_.Add(StageRecord{.step = 0, .bucket = 0, .stage = Stage::kGradient});
  log_.Add(StageRecord{.step = 0, .bucket = other, .density = 0.5f, .stage = Stage::kGradient});
  log_.Add(StageRecord{.step = 1, .bucket = other, .density = 0.5f, .stage = Stage::kGradient});
  log_.Flush(0, true);
  const std::string bytes = ReadFile(path_);
  const json head = Heads(bytes).back();
  EXPECT_EQ(head["kind"], "gradients");
  ASSERT_EQ(head["rows"], 3);
  EXPECT_EQ(head["columns"].back()[0], "residual_ratio");
  float ratios[3];
  std::memcpy(ratios, bytes.data() + bytes.size() - 16, sizeof ratios);  // Filled up to 16 bytes.
  EXPECT_THAT(ratios, testing::ElementsAre(testing::Lt(0.0f), 2.5f, testing::Lt(0.0f)));
}

TEST_F(RunLogTest, ASampleIsARowOfTheState) {
  EngineGauges gauges;
  gauges.sent_bytes = 5;
  gauges.depth(Stage::kExchange) = 3;
  log_.Add(Sample(gauges, kSecond));
  log_.Flush(0, true);
  const json head = Written().back();
  EXPECT_EQ(head["kind"], "state");
  EXPECT_EQ(head["rows"], 1);
  EXPECT_EQ(head["columns"][0], json({"time_ns", "<i8"}));
  EXPECT_THAT(head["columns"].dump(), testing::HasSubstr("waiting_for_exchange"));
}

TEST_F(RunLogTest, WhatIsStalledIsABlockWheneverItChanges) {
  log_.AddStalls(StallsPage({.tensors = {{.name = "w", .missing = {1}}}}, kSecond));
  log_.AddStalls(StallsPage({}, 2 * kSecond));
  log_.Flush(0, true);
  log_.Flush(0, true);
  EXPECT_THAT(Kinds(), testing::ElementsAre("run", "stalls", "stalls"));
  EXPECT_THAT(ReadFile(path_), testing::HasSubstr(R"("name":"w")"));
}

TEST_F(RunLogTest, EachPlanIsABlock) {
  log_.AddPlan(PlanBlock({.group = "model", .from_step = 4, .why = "tries dense"}));
  log_.AddPlan(PlanBlock({.group = "model", .from_step = 7, .why = "dgc"}));
  log_.Flush(0, true);
  log_.Flush(0, true);
  EXPECT_THAT(Kinds(), testing::ElementsAre("run", "plans", "plans"));
  EXPECT_THAT(ReadFile(path_), testing::HasSubstr(R"("from_step":7)"));
}

TEST_F(RunLogTest, TheEndIsTheLastBlockAndSaysWhy) {
  log_.AddEnd(kSecond, "rank 1 is lost");
  log_.Add(StepSummary{.step = 0});
  log_.Flush(0, true);
  log_.Flush(0, true);
  EXPECT_THAT(Kinds(), testing::ElementsAre("run", "steps", "end"));
  EXPECT_THAT(ReadFile(path_),
              testing::HasSubstr(R"({"time_ns":1000000000,"failure":"rank 1 is lost"})"));
}

TEST_F(RunLogTest, BlocksAreNumbered) {
  log_.Add(StageRecord{.step = 0});
  log_.Add(StepSummary{.step = 0});
  log_.Flush(0, true);
  std::vector<int> numbers;
  for (const json& head : Written()) numbers.push_back(head["number"]);
  EXPECT_THAT(numbers, testing::ElementsAre(1, 2, 3, 4));
}

TEST(RunLog, AFileThatCannotBeMadeIsNamed) {
  BucketNames names;
  EXPECT_THAT([&] { RunLog("/no/such/folder/run.weirlog", {}, names, "{}"); },
              testing::ThrowsMessage<InvalidArgument>(
                  testing::HasSubstr("cannot write /no/such/folder/run.weirlog: No such file")));
}

TEST(RunLog, AFullDiskIsSaid) {
  BucketNames names;
  EXPECT_THAT([&] { RunLog("/dev/full", {}, names, "{}"); },
              testing::ThrowsMessage<InvalidArgument>(testing::HasSubstr("No space left")));
}

}  // namespace
}  // namespace weir
