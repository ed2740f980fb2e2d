#include "coordinator/work/stage_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <future>
#include <optional>
#include <vector>

#include "coordinator/work/bucket.h"

namespace weir {
namespace {

/// A worker looks at nothing of a bucket.
class AnyBucket final : public Bucket {
 public:
  const std::string& name() const override { return name_; }
  std::span<const BucketStage> stages() const override { return {}; }
  void Run(BucketStage) override {}
  Collective* BindExchange(std::size_t /*chunk_bytes*/) override { return nullptr; }
  void Done() override {}
  void Failed(const std::exception_ptr&) override {}
  TrafficOp traffic_op() const override { return TrafficOp::kOther; }
  Traffic traffic() const override { return {}; }

 private:
  const std::string name_ = "any";
};

class StageWorkerTest : public testing::Test {
 protected:
  AnyBucket first_;
  AnyBucket second_;
  StageQueue queue_;
};

TEST_F(StageWorkerTest, RunsBucketsInOrderBehindTheProgramsThreads) {
  std::vector<Bucket*> seen;
  std::vector<int> policies;
  std::promise<void> both;
  {
    const StageWorker worker(0, &queue_, [&](Bucket* bucket) {
      seen.push_back(bucket);
      policies.push_back(sched_getscheduler(0));
      if (seen.size() == 2) both.set_value();
    });
    EXPECT_TRUE(queue_.Push(&first_));
    EXPECT_TRUE(queue_.Push(&second_));
    both.get_future().wait();
    queue_.Close();
  }
  EXPECT_THAT(seen, testing::ElementsAre(&first_, &second_));
  EXPECT_THAT(policies, testing::Each(SCHED_BATCH));
}

TEST_F(StageWorkerTest, AClosedQueueTakesNothingAndLetsItsWorkerGo) {
  std::optional<StageWorker> worker(std::in_place, 0, &queue_, [](Bucket*) { FAIL(); });
  queue_.Close();
  worker.reset();  // Joins.
  EXPECT_FALSE(queue_.Push(&first_));
  EXPECT_EQ(queue_.Pop(), nullptr);
}

}  // namespace
}  // namespace weir
