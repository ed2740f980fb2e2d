#include "metrics/steps/totals_reporter.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <vector>

namespace weir {
namespace {

class TotalsReporterTest : public testing::Test {
 protected:
  TotalsReporterTest() { names_.Add({.name = "bucket", .compressor = "dgc"}); }

  void AddStep(std::int64_t number) {
    const std::int64_t start_ns = 1'000'000 * (number + 1);
    recorder_.Add({.start_ns = start_ns, .end_ns = start_ns + 100, .step = number});
    recorder_.Add({.start_ns = start_ns + 100,
                   .end_ns = start_ns + 300,
                   .step = number,
                   .bytes_in = 10,
                   .bytes_out = 400,
                   .stage = Stage::kExchange});
    recorder_.Add(
        {.start_ns = start_ns, .end_ns = start_ns + 500, .step = number, .stage = Stage::kStep});
  }
  std::function<void(const std::string&)> Keep() {
    return [this](const std::string& text) {
      const std::lock_guard lock(mutex_);
      said_.push_back(ParseRankTotals(text));
      said_more_.notify_all();
    };
  }

  Recorder recorder_;
  BucketNames names_;
  EngineGauges gauges_;
  std::mutex mutex_;
  std::condition_variable said_more_;
  std::vector<RankTotals> said_;
};

TEST_F(TotalsReporterTest, SaysInTheEndWhatAllStepsTook) {
  {
    const TotalsReporter reporter(recorder_, names_, gauges_, Keep(), /*batch_size=*/32);
    AddStep(0);
    AddStep(1);
    gauges_.gradient_traffic.sent[1] = 70;
    gauges_.traffic_of(TrafficOp::kNegotiation).sent[1] = 5;
    gauges_.NoteStalled("late");
    gauges_.NoteStalled("late");
  }
  ASSERT_FALSE(said_.empty());
  const RankTotals& last = said_.back();
  EXPECT_EQ(last.steps(), 2U);
  EXPECT_EQ(last.communication_ns, 400);
  EXPECT_EQ(last.exchange_ns, 400);
  EXPECT_EQ(last.payload_bytes, 20U);
  EXPECT_EQ(last.dense_bytes, 800U);
  EXPECT_EQ(last.sent_bytes, 75U);
  EXPECT_EQ(last.samples, 64U);
  EXPECT_EQ(last.stalled_tensors, 1U);
  EXPECT_EQ(last.stalled, std::vector<std::string>{"late"});
}

TEST_F(TotalsReporterTest, SaysMeanwhileWhatIsKnownInCaseTheRankDies) {
  const TotalsReporter reporter(recorder_, names_, gauges_, Keep());
  AddStep(0);
  std::unique_lock lock(mutex_);
  said_more_.wait(lock, [this] { return !said_.empty(); });
  EXPECT_EQ(said_.front().steps(), 1U);
}

TEST_F(TotalsReporterTest, SaysNothingWithoutStepsOrNews) {
  {
    TotalsReporter reporter(recorder_, names_, gauges_, Keep());
    reporter.Report();
    EXPECT_TRUE(said_.empty());
    AddStep(0);
    reporter.Report();
    reporter.Report();
  }
  EXPECT_EQ(said_.size(), 1U);
}

}  // namespace
}  // namespace weir
