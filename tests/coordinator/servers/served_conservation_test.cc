// A dedicated summation server loses nothing: its answers and what it keeps equal what was pushed,
// with every compressor, whether it waits for all workers or not. The same for ranks:
// tests/coordinator/groups/conservation_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "compression/make_compressor.h"
#include "compression/options/answer_options.h"
#include "compression/options/registry.h"
#include "compression/options/standard_options.h"
#include "coordinator/servers/asynchronous_bucket.h"
#include "coordinator/servers/synchronous_bucket.h"
#include "tests/coordinator/jobs/keeping_cases.h"

namespace weir::served_conservation_test {
namespace {

constexpr std::size_t kWorkers = 3;
constexpr std::size_t kElements = 100;
constexpr std::int64_t kSteps = 20;
constexpr std::int64_t kStaleness = 2;

using Floats = std::vector<float>;
using Frame = std::vector<std::byte>;

/// A bucket of one partition, and what workers do with it. `answers` is the number of its
/// residuals.
class Service {
 public:
  Service(const CompressionOptions& workers, std::size_t answers, std::uint32_t seed)
      : options_(AnswerOptions(workers)),
        schedule_(ScheduleOf(ParseOptions(options_))),
        reader_(Make()),
        random_(seed) {
    for (std::size_t w = 0; w < kWorkers; ++w) workers_.push_back({.compressor = Make()});
    for (std::size_t a = 0; a < answers; ++a) answering_.push_back(Make());
  }

  /// To be called once.
  ServedBucket::Description Describe() {
    ServedBucket::Partition partition{
        .name = "w", .elements = kElements, .reader = Make(), .answering = std::move(answering_)};
    for (const auto& answering : partition.answering) residuals_.push_back(answering.get());
    ServedBucket::Description bucket{.name = "g/w",
                                     .identity = Identity(0),
                                     .schedule = schedule_,
                                     .workers = kWorkers,
                                     .partitions = {}};
    bucket.partitions.push_back(std::move(partition));
    return bucket;
  }

  /// A worker's next step, with a random gradient; takes what is answered because of it.
  void Push(ServedBucket& bucket, std::size_t w) {
    Worker& worker = workers_[w];
    worker.frame = NextFrame(worker, w);
    worker.waits = true;
    std::vector<ServedBucket::Answer> due;
    bucket.Take(static_cast<int>(w), worker.frame, due);
    for (const ServedBucket::Answer& answer : due) {
      Receive(static_cast<std::size_t>(answer.worker), answer.frame);
    }
  }
  /// Those who may push: not answered yet they may not, nor after their last step.
  std::vector<std::size_t> Ready() const {
    std::vector<std::size_t> ready;
    for (std::size_t w = 0; w < kWorkers; ++w) {
      if (!workers_[w].waits && workers_[w].step < kSteps) ready.push_back(w);
    }
    return ready;
  }
  std::size_t OneOf(const std::vector<std::size_t>& some) { return some[random_() % some.size()]; }

  /// The answers to worker w, times their number, are all that was pushed except the kept rest.
  void ExpectNothingLost(std::size_t w) const {
    const Worker& worker = workers_[w];
    const std::span<const float> residual = ResidualOf(w);
    for (std::size_t i = 0; i < kElements; ++i) {
      const double kept = residual.empty() ? 0.0 : kWorkers * double{residual[i]};
      const double missing =
          std::abs(worker.pushed[i] - worker.box[i] - kWorkers * worker.received[i] - kept);
      // Every number is rounded, by half an ulp: when it is added to a box, once for each that may
      // lie there, when that is divided, and twice by the answer's error feedback.
      constexpr double kRoundings = kWorkers * (kStaleness + 1) + 1 + 2;
      ASSERT_LE(missing, kRoundings * 0x1p-24 * worker.moved[i])
          << "entry " << i << " for worker " << w;
    }
  }
  bool keeps() const {
    return std::ranges::any_of(residuals_, [](const Compressor* one) {
      return std::ranges::any_of(one->residual(), [](float value) { return value != 0.0f; });
    });
  }

 private:
  struct Worker {
    std::unique_ptr<Compressor> compressor;
    std::int64_t step = 0;  ///< The next one to push.
    bool waits = false;
    Frame frame{};
    std::vector<double> pushed = std::vector<double>(kElements);  ///< By all.
    std::vector<double> box = std::vector<double>(kElements);     ///< Since its last answer.
    std::vector<double> received = std::vector<double>(kElements);
    std::vector<double> moved = std::vector<double>(kElements);  ///< In magnitude.
  };

  std::unique_ptr<Compressor> Make() const {
    return MakeCompressor(options_, {"w", Shape{1, kElements}});
  }
  BucketFrame::Identity Identity(std::int64_t step) const {
    return {.epoch = 5,
            .step = step,
            .elements = kElements,
            .codec = FindCompressor(options_.at("compressor")).codec};
  }
  std::size_t Most(std::int64_t step) const {
    return reader_->MaxEncodedBytes(schedule_.Density(step));
  }
  std::span<const float> ResidualOf(std::size_t w) const {
    return residuals_[std::min(w, residuals_.size() - 1)]->residual();
  }

  Frame NextFrame(Worker& worker, std::size_t w) {
    std::normal_distribution<float> normal;
    Floats gradient(kElements), decoded(kElements);
    for (float& value : gradient) value = normal(random_);
    const std::int64_t step = worker.step++;
    const Floats rates = {0.5f, 0.5f};
    const std::size_t most[] = {ServedBucket::HeadBytes(1), Most(step)};
    Frame frame(BucketFrame::MaxBytes(2, most[0] + most[1]));
    BucketFrame::Writer writer(frame, most);
    std::memcpy(writer.Next().data(), rates.data(), most[0]);
    writer.Put(most[0]);
    const std::span<std::byte> payload = writer.Next();
    const std::size_t bytes = worker.compressor->Encode(
        {.step = step, .density = schedule_.Density(step), .rank = static_cast<int>(w)}, gradient,
        payload);
    reader_->Merge(payload.first(bytes), decoded);
    writer.Put(bytes);
    frame.resize(writer.Seal(Identity(step)));
    for (Worker& each : workers_) {
      for (std::size_t i = 0; i < kElements; ++i) {
        each.pushed[i] += decoded[i];
        each.box[i] += decoded[i];
        each.moved[i] += std::abs(decoded[i]);
      }
    }
    return frame;
  }

  void Receive(std::size_t w, std::span<const std::byte> frame) {
    Worker& worker = workers_[w];
    const std::size_t most[] = {Most(worker.step - 1)};
    std::vector<std::span<const std::byte>> payloads(1);
    BucketFrame::Read(frame, Identity(worker.step - 1), most, payloads);
    Floats answer(kElements);
    reader_->Merge(payloads[0], answer);
    const std::span<const float> residual = ResidualOf(w);
    for (std::size_t i = 0; i < kElements; ++i) {
      worker.received[i] += answer[i];
      worker.box[i] = 0.0;
      worker.moved[i] += kWorkers * std::abs(answer[i]);
      // Added to in one step and subtracted from in another.
      if (!residual.empty()) worker.moved[i] += 2.0 * kWorkers * std::abs(residual[i]);
    }
    EXPECT_TRUE(std::exchange(worker.waits, false));
  }

  const CompressionOptions options_;
  const Schedule schedule_;
  const std::unique_ptr<const Compressor> reader_;
  std::mt19937 random_;
  std::vector<Worker> workers_;
  std::vector<std::unique_ptr<Compressor>> answering_;
  std::vector<const Compressor*> residuals_;
};

class ServedConservation : public testing::TestWithParam<KeepingCase> {
 protected:
  bool has(const std::string& compressor) const {
    return GetParam().options.at("compressor") == compressor;
  }
  const std::uint32_t seed_ = std::random_device{}();
};

TEST_P(ServedConservation, WhatWasPushedIsAnsweredOrKeptAfterEveryStep) {
  SCOPED_TRACE(testing::Message() << "seed " << seed_);
  Service service(GetParam().options, 1, seed_);
  SynchronousBucket bucket(service.Describe());
  for (std::int64_t step = 0; step < kSteps; ++step) {
    SCOPED_TRACE(testing::Message() << "step " << step);
    for (std::size_t w = 0; w < kWorkers; ++w) service.Push(bucket, w);
    for (std::size_t w = 0; w < kWorkers; ++w) service.ExpectNothingLost(w);
  }
  // The server answers randomk with the entries that were pushed.
  const auto& options = GetParam().options;
  const bool exact = options.contains("values") && options.at("values") == "fp32";
  EXPECT_EQ(service.keeps(), !has("dense") && !(has("randomk") && exact));
}

TEST_P(ServedConservation, SoItIsForEachWorkerWhenTheyDoNotWait) {
  SCOPED_TRACE(testing::Message() << "seed " << seed_);
  Service service(GetParam().options, kWorkers, seed_);
  AsynchronousBucket bucket(service.Describe(), kStaleness);
  std::size_t pushes = 0;
  for (auto ready = service.Ready(); !ready.empty(); ready = service.Ready()) {
    SCOPED_TRACE(testing::Message() << "push " << pushes++);
    service.Push(bucket, service.OneOf(ready));
    for (std::size_t w = 0; w < kWorkers; ++w) service.ExpectNothingLost(w);
  }
  EXPECT_EQ(pushes, kWorkers * kSteps);
  EXPECT_EQ(service.keeps(), !has("dense"));
}

std::vector<KeepingCase> ServedCases() {
  std::vector<KeepingCase> cases = KeepingCases();
  // Momentum is over before anything is pushed.
  std::erase_if(cases, [](const KeepingCase& one) {
    return one.route != RouteKind::kPushPull || one.before != Before::kNothing;
  });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(, ServedConservation, testing::ValuesIn(ServedCases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace weir::served_conservation_test
