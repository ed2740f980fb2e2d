// Distance of ranks with max_staleness: as far as allowed, and no further.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compression/wire/frame.h"
#include "coordinator/engine/local_job.h"
#include "tests/ops/transport/delayed_transport.h"
#include "tests/ops/transport/forwarding_transport.h"
#include "weir/engine.h"
#include "weir/error.h"

namespace weir::staleness_test {
namespace {

using Step = std::int64_t;

/// A rank's gradients, one tensor of ones.
class Worker {
 public:
  Worker(Engine& engine, const std::string& name, std::int64_t elements, Step max_staleness)
      : values_(static_cast<std::size_t>(elements), 1.0f),
        view_{values_.data(), DType::kFloat32, Shape{elements}},
        group_(
            engine.Register({.name = name,
                             .tensors = {{.name = "w", .shape = view_.shape}},
                             .compression = {{"compressor", "dense"},
                                             {"route", "push_pull"},
                                             {"max_staleness", std::to_string(max_staleness)}}})) {}

  void Begin() {
    std::ranges::fill(values_, 1.0f);
    group_->BeginStep({});
    group_->Submit(0, {view_.data, view_.dtype, view_.shape}, view_);
    group_->EndStep();
  }
  void Wait() { group_->WaitStep(); }
  void Steps(int count) {
    for (int s = 0; s < count; ++s) {
      Begin();
      Wait();
    }
  }

 private:
  std::vector<float> values_;
  TensorView view_;
  std::unique_ptr<GradientGroup> group_;
};

/// Header of a gradient frame; none for other messages.
std::optional<FrameHeader> HeaderOf(std::span<const std::byte> data) {
  try {
    return PeekFrameHeader(data);
  } catch (const Corrupt&) {
    return std::nullopt;
  }
}

/// Tells somebody of every gradient frame that is sent.
class WatchedTransport final : public ForwardingTransport {
 public:
  using OnFrame = std::function<void(int from, int to, const FrameHeader& header)>;

  WatchedTransport(std::unique_ptr<Transport> inner, OnFrame on_frame)
      : ForwardingTransport(std::move(inner)), on_frame_(std::move(on_frame)) {}

  Request Send(int peer, Tag tag, std::span<const std::byte> data) override {
    if (const auto header = HeaderOf(data)) on_frame_(rank(), peer, *header);
    return inner().Send(peer, tag, data);
  }

 private:
  const OnFrame on_frame_;
};

/// Tells who waits for `flag`, after an exception too.
struct SetAtEnd {
  std::atomic<bool>& flag;
  ~SetAtEnd() {
    flag = true;
    flag.notify_all();
  }
};

// Rank 0 gets three steps ahead of a rank that has done nothing, and not a fourth. A server takes
// what comes from one rank in its order and answers in that order: when it has answered what came
// behind the fourth step, it has had its chance to answer that one.
TEST(Staleness, TheServerHoldsBackTheAnswerOfARankThatIsTooFarAhead) {
  constexpr int kServer = 2;
  constexpr std::int64_t kElements = 100, kOthers = 50;
  std::atomic<Step> pushed = -1, answered = -1;
  std::atomic<bool> looked = false;
  const auto watch = [&](int from, int to, const FrameHeader& header) {
    if (header.elements != kElements) return;
    if (from == 0 && to == kServer) pushed = static_cast<Step>(header.step);
    if (from == kServer && to == 0) answered = static_cast<Step>(header.step);
  };
  LocalJob job(
      2,
      [&](int, std::unique_ptr<Transport> direct) {
        return std::make_unique<WatchedTransport>(std::move(direct), watch);
      },
      /*servers=*/1);
  job.Run([&](Engine& engine) {
    Worker worker(engine, "g", kElements, 3);
    Worker behind(engine, "behind", kOthers, 1000);
    if (engine.rank() == 0) {
      {
        const SetAtEnd let_rank_1_go{looked};
        worker.Steps(3);
        worker.Begin();
        while (pushed < 3) behind.Steps(1);
        // The first of them may have been there at a glance that the fourth step came too late for.
        behind.Steps(3);
        EXPECT_EQ(answered, 2) << "the fourth step did not wait for rank 1's first";
      }
      worker.Wait();
      EXPECT_EQ(answered, 3);
    } else {
      looked.wait(false);
      worker.Steps(4);
    }
  });
}

/// Which steps workers have sent and applied. Thread-safe.
class Progress {
 public:
  Progress(int workers, Step max_staleness)
      : sent_(static_cast<std::size_t>(workers), -1),
        applied_(sent_),
        max_staleness_(max_staleness) {}

  void WillSend(int worker, Step step) {
    const std::lock_guard lock(mutex_);
    sent_[static_cast<std::size_t>(worker)] = step;
  }
  void HasApplied(int worker, Step step) {
    const std::lock_guard lock(mutex_);
    const Step ahead = step - std::ranges::min(sent_);
    EXPECT_LE(ahead, max_staleness_) << "worker " << worker << " in step " << step;
    furthest_ = std::max(furthest_, ahead);
    applied_[static_cast<std::size_t>(worker)] = step;
    changed_.notify_all();
  }
  /// Returns when all others have applied `step`, or will not.
  void WaitForOthers(int worker, Step step) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      for (std::size_t w = 0; w < applied_.size(); ++w) {
        if (static_cast<int>(w) != worker && applied_[w] < step) return given_up_;
      }
      return true;
    });
  }
  void GiveUp() {
    const std::lock_guard lock(mutex_);
    given_up_ = true;
    changed_.notify_all();
  }
  Step furthest() const { return furthest_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Step> sent_;
  std::vector<Step> applied_;
  const Step max_staleness_;
  Step furthest_ = 0;
  bool given_up_ = false;
};

/// By step, the worker that does not begin it before all others are as far ahead as they may be;
/// -1: nobody. One after the other, so that none of them waits for another.
std::vector<int> Laggards(int workers, Step steps, Step max_staleness, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int> laggards(static_cast<std::size_t>(steps), -1);
  for (Step step = 1; step + max_staleness <= steps;
       step += max_staleness + 1 + static_cast<Step>(random() % 3)) {
    laggards[static_cast<std::size_t>(step)] =
        static_cast<int>(random() % static_cast<std::uint32_t>(workers));
  }
  return laggards;
}

struct Race {
  int workers;
  int servers;
  Step max_staleness;
};
/// For the test's name, which would show the bytes otherwise.
void PrintTo(const Race& race, std::ostream* out) { *out << race.workers << " workers"; }
class StalenessTest : public testing::TestWithParam<Race> {};

TEST_P(StalenessTest, IsUsedAndBoundedHoweverLateMessagesAre) {
  const auto [workers, servers, max_staleness] = GetParam();
  constexpr Step kSteps = 40;
  for (std::uint32_t seed = 0; seed < 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto network = std::make_shared<VirtualNetwork>(
        workers + servers,
        VirtualNetwork::Link{
            .bytes_per_second = 1e9, .jitter = std::chrono::microseconds(500), .seed = seed});
    LocalJob job(
        workers,
        [&](int, std::unique_ptr<Transport> direct) {
          return std::make_unique<DelayedTransport>(std::move(direct), network);
        },
        servers);
    const std::vector<int> laggards = Laggards(workers, kSteps, max_staleness, seed);
    Progress progress(workers, max_staleness);
    Settings settings;
    settings.timeout_seconds = 60;  // If nobody gets ahead all wait for a laggard.
    const auto train = [&](Engine& engine) {
      Worker worker(engine, "g", 100, max_staleness);
      for (Step step = 0; step < kSteps; ++step) {
        if (laggards[static_cast<std::size_t>(step)] == engine.rank()) {
          progress.WaitForOthers(engine.rank(), step - 1 + max_staleness);
        }
        progress.WillSend(engine.rank(), step);
        worker.Steps(1);
        progress.HasApplied(engine.rank(), step);
      }
    };
    job.Run(
        [&](Engine& engine) {
          try {
            train(engine);
          } catch (...) {
            progress.GiveUp();
            throw;
          }
        },
        settings);
    EXPECT_EQ(progress.furthest(), max_staleness);
  }
}

INSTANTIATE_TEST_SUITE_P(, StalenessTest,
                         testing::Values(Race{2, 0, 2}, Race{3, 0, 1}, Race{4, 0, 3}, Race{2, 1, 1},
                                         Race{4, 1, 4}, Race{3, 2, 2}),
                         [](const auto& test) {
                           return std::to_string(test.param.workers) + "Workers" +
                                  std::to_string(test.param.servers) + "ServersBound" +
                                  std::to_string(test.param.max_staleness);
                         });

}  // namespace
}  // namespace weir::staleness_test
