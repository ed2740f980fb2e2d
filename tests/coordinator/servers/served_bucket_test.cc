// A summation server with one bucket: workers that are late, repeat themselves or come from another
// step, and how far they may get apart.
#include "coordinator/servers/served_bucket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <utility>

#include "compression/make_compressor.h"
#include "compression/options/registry.h"
#include "coordinator/servers/asynchronous_bucket.h"
#include "coordinator/servers/synchronous_bucket.h"
#include "tests/coordinator/jobs/text_of.h"
#include "weir/error.h"

namespace weir::served_bucket_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t kElements = 3;
constexpr BucketFrame::Identity kIdentity{
    .epoch = 5, .bucket = 2, .elements = kElements, .codec = CodecId::kDense};

std::unique_ptr<Compressor> Dense() {
  return MakeCompressor(ParseOptions({{"compressor", "dense"}}), {"w", Shape{kElements}});
}

ServedBucket::Description Describe(int workers, int answers) {
  ServedBucket::Description bucket{
      .name = "g/w", .identity = kIdentity, .schedule = {}, .workers = workers, .partitions = {}};
  ServedBucket::Partition partition{
      .name = "w", .elements = kElements, .reader = Dense(), .answering = {}};
  for (int a = 0; a < answers; ++a) partition.answering.push_back(Dense());
  bucket.partitions.push_back(std::move(partition));
  return bucket;
}

SynchronousBucket Synchronous(int workers) { return SynchronousBucket(Describe(workers, 1)); }
AsynchronousBucket Asynchronous(int workers, std::int64_t staleness) {
  return AsynchronousBucket(Describe(workers, workers), staleness);
}

using Frame = std::vector<std::byte>;

/// The push of a worker whose gradient is `value` everywhere.
Frame Push(std::int64_t step, float value, BucketFrame::Identity identity = kIdentity) {
  identity.step = step;
  const std::vector<float> values(kElements, value);
  const std::vector<float> rates = {0.5f, 0.5f};
  const std::size_t most[] = {ServedBucket::HeadBytes(1), kElements * sizeof(float)};
  Frame frame(BucketFrame::MaxBytes(2, most[0] + most[1]));
  BucketFrame::Writer writer(frame, most);
  for (const auto* payload : {&rates, &values}) {
    std::memcpy(writer.Next().data(), payload->data(), payload->size() * sizeof(float));
    writer.Put(payload->size() * sizeof(float));
  }
  frame.resize(writer.Seal(identity));
  return frame;
}

Frame EmptyPush(std::int64_t step) {
  BucketFrame::Identity identity = kIdentity;
  identity.step = step;
  Frame frame(BucketFrame::MaxBytes(2, 100));
  frame.resize(BucketFrame::WriteEmpty(identity, frame));
  return frame;
}

/// The value that all entries of an answer for `step` have.
float ValueOf(const ServedBucket::Answer& answer, std::int64_t step) {
  BucketFrame::Identity identity = kIdentity;
  identity.step = step;
  const std::size_t most[] = {kElements * sizeof(float)};
  std::vector<std::span<const std::byte>> payloads(1);
  BucketFrame::Read(answer.frame, identity, most, payloads);
  std::vector<float> values(kElements);
  std::memcpy(values.data(), payloads[0].data(), payloads[0].size());
  EXPECT_THAT(values, testing::Each(values.front()));
  return values.front();
}

std::string Refusal(ServedBucket& bucket, int worker, const Frame& frame) {
  std::vector<ServedBucket::Answer> due;
  std::string text = TextOf<Corrupt>([&] { bucket.Take(worker, frame, due); });
  EXPECT_THAT(due, IsEmpty());
  return text;
}

TEST(SynchronousBucketTest, AnswersAllWhenTheLastHasCome) {
  SynchronousBucket bucket = Synchronous(3);
  std::vector<ServedBucket::Answer> due;
  const Frame frames[] = {Push(4, 1.0f), Push(4, 2.0f), Push(4, 6.0f)};
  bucket.Take(2, frames[2], due);
  bucket.Take(0, frames[0], due);
  EXPECT_THAT(due, IsEmpty());
  bucket.Take(1, frames[1], due);
  ASSERT_EQ(due.size(), 3u);
  for (int w = 0; w < 3; ++w) {
    EXPECT_EQ(due[static_cast<std::size_t>(w)].worker, w);
    EXPECT_EQ(ValueOf(due[static_cast<std::size_t>(w)], 4), 3.0f);
  }
}

TEST(SynchronousBucketTest, CountsThoseWhoContributeNothing) {
  SynchronousBucket bucket = Synchronous(2);
  std::vector<ServedBucket::Answer> due;
  const Frame empty = EmptyPush(0);
  const Frame full = Push(0, 4.0f);
  bucket.Take(0, empty, due);
  bucket.Take(1, full, due);
  ASSERT_EQ(due.size(), 2u);
  EXPECT_EQ(ValueOf(due.front(), 0), 2.0f);
}

TEST(SynchronousBucketTest, RefusesWhatIsOfAnotherStepOrComesTwice) {
  SynchronousBucket bucket = Synchronous(2);
  std::vector<ServedBucket::Answer> due;
  const Frame first = Push(7, 1.0f);
  bucket.Take(0, first, due);
  EXPECT_THAT(Refusal(bucket, 0, Push(7, 1.0f)),
              HasSubstr("what rank 0 pushed for 'g/w' is corrupt: it was pushed twice in step 7"));
  EXPECT_THAT(Refusal(bucket, 1, Push(8, 1.0f)), HasSubstr("its step is 8, that of other ranks 7"));
  // Nothing of it was added up.
  const Frame second = Push(7, 2.0f);
  bucket.Take(1, second, due);
  ASSERT_EQ(due.size(), 2u);
  EXPECT_EQ(ValueOf(due.front(), 7), 1.5f);
  EXPECT_THAT(Refusal(bucket, 1, Push(7, 1.0f)),
              HasSubstr("its step is 7, and step 7 has been answered"));
}

TEST(ServedBucketTest, RefusesDamageAndOtherPlans) {
  SynchronousBucket bucket = Synchronous(1);
  Frame damaged = Push(0, 1.0f);
  damaged.back() ^= std::byte{1};
  EXPECT_THAT(Refusal(bucket, 0, damaged), HasSubstr("checksum"));
  Frame cut = Push(0, 1.0f);
  cut.resize(20);
  EXPECT_THAT(Refusal(bucket, 0, cut), HasSubstr("'g/w' is corrupt"));
  BucketFrame::Identity other = kIdentity;
  other.epoch = 6;
  EXPECT_THAT(Refusal(bucket, 0, Push(0, 1.0f, other)), HasSubstr("epoch"));
  EXPECT_THAT(Refusal(bucket, 0, Push(std::numeric_limits<std::int64_t>::min(), 1.0f)),
              HasSubstr("its step is -9223372036854775808"));
}

TEST(AsynchronousBucketTest, AnswersWithWhatCameSinceTheLastAnswer) {
  AsynchronousBucket bucket = Asynchronous(2, 2);
  std::vector<ServedBucket::Answer> due;
  const Frame a0 = Push(10, 2.0f), a1 = Push(11, 4.0f), b0 = Push(10, 8.0f);
  bucket.Take(0, a0, due);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(ValueOf(due[0], 10), 1.0f);
  bucket.Take(0, a1, due);
  ASSERT_EQ(due.size(), 2u);  // Rank 1 has pushed nothing, and rank 0 is two steps ahead of it.
  EXPECT_EQ(ValueOf(due[1], 11), 2.0f);
  due.clear();
  bucket.Take(1, b0, due);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].worker, 1);
  EXPECT_EQ(ValueOf(due[0], 10), 7.0f);
}

TEST(AsynchronousBucketTest, RefusesTwiceAndBackwards) {
  AsynchronousBucket bucket = Asynchronous(2, 1);
  std::vector<ServedBucket::Answer> due;
  const Frame first = Push(3, 1.0f), next = Push(4, 1.0f);
  bucket.Take(0, first, due);
  EXPECT_EQ(due.size(), 1u);
  EXPECT_THAT(Refusal(bucket, 0, Push(3, 1.0f)), HasSubstr("its step is 3, after step 3"));
  bucket.Take(0, next, due);
  EXPECT_EQ(due.size(), 1u);  // It waits for rank 1.
  EXPECT_THAT(Refusal(bucket, 0, Push(5, 1.0f)), HasSubstr("it was pushed twice in step 4"));
  EXPECT_THAT(Refusal(bucket, 1, EmptyPush(3)), HasSubstr("it contributes nothing"));
}

/// Workers that push as chance has it.
class Race {
 public:
  Race(int workers, std::int64_t staleness, std::uint32_t seed)
      : bucket_(Asynchronous(workers, staleness)),
        staleness_(staleness),
        random_(seed),
        runners_(static_cast<std::size_t>(workers)) {}

  void Run(std::int64_t steps) {
    while (true) {
      std::vector<int> ready;
      for (int w = 0; w < workers(); ++w) {
        const Runner& runner = runners_[static_cast<std::size_t>(w)];
        if (!runner.waits && runner.step < steps) ready.push_back(w);
      }
      if (ready.empty()) break;
      const int w = ready[random_() % ready.size()];
      Step(w, static_cast<float>(random_() % 100));
    }
    for (const Runner& runner : runners_) {
      EXPECT_EQ(runner.step, steps);
      EXPECT_FALSE(runner.waits);
    }
  }
  /// One more step of each worker, with zeros: nobody waits for its answer, which is what its box
  /// still held.
  void EmptyBoxes() {
    for (int w = 0; w < workers(); ++w) Step(w, 0.0f);
  }
  std::int64_t furthest() const { return furthest_; }
  double pushed() const { return pushed_; }
  double received(int worker) const { return runners_[static_cast<std::size_t>(worker)].received; }
  int workers() const { return static_cast<int>(runners_.size()); }

 private:
  struct Runner {
    std::int64_t step = 0;  ///< The next one to push.
    bool waits = false;
    Frame frame;
    double received = 0.0;
  };

  void Step(int w, float value) {
    Runner& runner = runners_[static_cast<std::size_t>(w)];
    runner.frame = Push(runner.step, value);
    runner.waits = true;
    ++runner.step;
    pushed_ += value;
    std::vector<ServedBucket::Answer> due;
    bucket_.Take(w, runner.frame, due);
    for (const ServedBucket::Answer& answer : due) {
      Runner& other = runners_[static_cast<std::size_t>(answer.worker)];
      EXPECT_TRUE(std::exchange(other.waits, false));
      other.received += ValueOf(answer, other.step - 1);
    }
    // A worker that is not held back is within the bound; one that is would break it.
    const std::int64_t last = std::ranges::min(runners_, {}, &Runner::step).step - 1;
    for (const Runner& other : runners_) {
      const std::int64_t ahead = other.step - 1 - last;
      EXPECT_EQ(other.waits, ahead > staleness_);
      if (!other.waits) furthest_ = std::max(furthest_, ahead);
    }
  }

  AsynchronousBucket bucket_;
  const std::int64_t staleness_;
  std::mt19937 random_;
  std::vector<Runner> runners_;
  std::int64_t furthest_ = 0;
  double pushed_ = 0.0;
};

TEST(AsynchronousBucketTest, StalenessIsBoundedAndUsedWhateverTheOrder) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    for (const std::int64_t staleness : {1, 2, 5}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", staleness " << staleness);
      Race race(4, staleness, seed);
      race.Run(50);
      EXPECT_EQ(race.furthest(), staleness);
      // The last pushes lie in the boxes of workers that were answered before. Nothing is rounded:
      // values are whole numbers, and quarters of their sums.
      race.EmptyBoxes();
      for (int w = 0; w < race.workers(); ++w) EXPECT_EQ(race.received(w), race.pushed() / 4);
    }
  }
}

}  // namespace
}  // namespace weir::served_bucket_test
