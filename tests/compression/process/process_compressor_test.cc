#include "compression/process/process_compressor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "compression/make_compressor.h"
#include "weir/error.h"

namespace weir::process_compressor_test {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t kElements = 40000;
const TensorSpec kTensor{"layer.weight", Shape{200, 200}};

const std::vector<CompressionOptions> kChoices = {
    {{"compressor", "dgc"}, {"density", "0.01"}},
    {{"compressor", "dgc"}, {"density", "0.01"}, {"momentum", "nesterov"}, {"state_dtype", "bf16"}},
    {{"compressor", "dgc"}, {"density", "0.01"}, {"momentum", "adam"}},
    {{"compressor", "topk"}, {"k", "0.01"}, {"ef", "vanilla"}},
    {{"compressor", "onebit"},
     {"scaling", "true"},
     {"ef", "vanilla"},
     {"momentum", "nesterov"},
     {"momentum_mu", "0.9"}},
    {{"compressor", "randomk"}, {"k", "0.01"}, {"seed", "3"}},
    {{"compressor", "int8"}, {"ef", "vanilla"}},
};

std::string NameOf(const testing::TestParamInfo<CompressionOptions>& info) {
  return info.param.at("compressor") + std::to_string(info.index);
}

/// A compressor in a process, beside the one that it stands for.
class Pair {
 public:
  explicit Pair(CompressionProcess& process, const CompressionOptions& options)
      : plain(MakeCompressor(options, kTensor)),
        apart(
            ProcessCompressor::Make(process, {options, kTensor}, MakeCompressor(options, kTensor))),
        payload_bytes_(plain->MaxEncodedBytes(1.0)) {}

  /// Takes a step's gradient with both, and compares the payloads.
  void Encode(const StepContext& context, std::mt19937& random) {
    std::normal_distribution<float> normal;

    for (float& x : gradient_) x = normal(random);
    gradient_[random() % kElements] = std::numeric_limits<float>::quiet_NaN();
    ASSERT_EQ(EncodeWith(*plain, context), EncodeWith(*apart, context)) << "step " << context.step;
    EXPECT_EQ(plain->threshold(), apart->threshold());
  }
  /// Takes a step's gradient with both, everything out, and compares it.
  void Drain(const StepContext& context, std::mt19937& random) {
    std::normal_distribution<float> normal;
    for (float& x : gradient_) x = normal(random);
    constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat16, DType::kInt8};
    const DType type = kTypes[random() % std::size(kTypes)];
    EXPECT_TRUE(std::ranges::equal(plain->Drain(context, gradient_, type),
                                   apart->Drain(context, gradient_, type)))
        << "step " << context.step;
  }
  /// Ends a step with both, and compares what they make of the mean.
  void Finish(const StepContext& context) {
    std::vector<float> mean(kElements, 0.25f), other(mean);
    plain->Finish(context, mean);
    apart->Finish(context, other);
    EXPECT_EQ(mean, other);
  }
  void CompareStates() {
    EXPECT_EQ(plain->non_finite_entries(), apart->non_finite_entries());
    const auto mine = plain->State(), its = apart->State();
    ASSERT_EQ(mine.size(), its.size());
    for (std::size_t i = 0; i < mine.size(); ++i) {
      EXPECT_EQ(mine[i].name, its[i].name);
      EXPECT_TRUE(std::ranges::equal(mine[i].values, its[i].values)) << mine[i].name;
    }
  }
  const Slot& slot() const { return dynamic_cast<const ProcessCompressor&>(*apart).slot(); }

  std::unique_ptr<Compressor> plain;
  std::unique_ptr<Compressor> apart;

 private:
  Bytes EncodeWith(Compressor& compressor, const StepContext& context) {
    Bytes payload(payload_bytes_);
    payload.resize(compressor.Encode(context, gradient_, payload));
    return payload;
  }
  const std::size_t payload_bytes_;
  std::vector<float> gradient_ = std::vector<float>(kElements, 0.5f);
};

StepContext ContextOf(std::int64_t step) {
  return {.step = step,
          .dense_phase = step < 2,
          .density = 0.01,
          .learning_rate = 0.1f,
          .previous_learning_rate = 0.1f,
          .rank = 1};
}

class ProcessCompressorTest : public testing::TestWithParam<CompressionOptions> {
 protected:
  /// Runs a step of any kind with both: dense, undone by an error, undone by the program, drained,
  /// or plain.
  void Step(Pair& pair, std::int64_t step, std::mt19937& random,
            const std::function<void()>& between) {
    const StepContext context = ContextOf(step);
    const auto kind = random() % 6;
    if (kind == 0) {
      pair.plain->Mark();
      pair.apart->Mark();
    }
    between();
    const bool drains = kind == 4 && !context.dense_phase && pair.plain->drains();
    if (drains) {
      pair.Drain(context, random);
    } else if (!context.dense_phase) {
      pair.Encode(context, random);
    }
    between();
    if (kind == 1 && !context.dense_phase) {
      pair.plain->Revert();
      pair.apart->Revert();
    } else if (!drains) {
      pair.Finish(context);
    }
    between();
    if (kind == 0) {
      pair.plain->GoBack();
      pair.apart->GoBack();
    }
    if (kind == 2) pair.CompareStates();
    if (kind == 3 && !context.dense_phase) {  // An exchange of another tensor has failed, late.
      pair.plain->Revert();
      pair.apart->Revert();
    }
    between();
  }
};

TEST_P(ProcessCompressorTest, HasTheBitsOfTheOneThatItStandsFor) {
  CompressionProcess process(2);
  Pair pair(process, GetParam());
  std::mt19937 random(7);
  for (std::int64_t step = 0; step < 40; ++step) Step(pair, step, random, [] {});
  pair.CompareStates();
  EXPECT_TRUE(process.alive());
}

TEST_P(ProcessCompressorTest, NothingIsLostWheneverTheProcessDies) {
  const unsigned seeds = GetParam() == kChoices.front() ? 100 : 15;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    CompressionProcess process(1);
    Pair pair(process, GetParam());
    // Between two calls, or some time after one of them has begun.
    auto calls_left = static_cast<int>(random() % 40);
    std::jthread killer;
    for (std::int64_t step = 0; step < 14; ++step) {
      Step(pair, step, random, [&] {
        if (calls_left-- != 0) return;
        const auto delay = std::chrono::microseconds(random() % 3 == 0 ? 0 : random() % 400);
        killer = std::jthread([&process, delay] {
          std::this_thread::sleep_for(delay);
          kill(process.pid(), SIGKILL);
        });
        if (delay.count() == 0) killer.join();
      });
    }
    if (killer.joinable()) killer.join();
    pair.CompareStates();
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Compressors, ProcessCompressorTest, testing::ValuesIn(kChoices), NameOf);

class KilledAt : public testing::TestWithParam<Slot::State> {};

// The gradient waits, is compressed, becomes an image, is in it: what was done so far is done, and
// the rest is done here.
TEST_P(KilledAt, TheStepIsTakenWhole) {
  CompressionProcess process(1);
  Pair pair(process, kChoices[0]);
  std::mt19937 random(5);
  for (std::int64_t step = 2; step < 5; ++step) {
    pair.Encode(ContextOf(step), random);
    pair.Finish(ContextOf(step));
  }
  const Slot::State state = GetParam();
  std::jthread killer;
  if (state == Slot::State::kFilled) {
    // Or it is stopped over the image of the step before, for which everybody waits.
    while (pair.slot().state() != Slot::State::kFree) std::this_thread::yield();
    kill(process.pid(), SIGSTOP);
    killer = std::jthread([&] {
      while (pair.slot().state() != Slot::State::kFilled) std::this_thread::yield();
      kill(process.pid(), SIGKILL);
    });
  }
  pair.Encode(ContextOf(5), random);
  if (state == Slot::State::kSent) kill(process.pid(), SIGSTOP);
  if (state == Slot::State::kSent || state == Slot::State::kFree) pair.Finish(ContextOf(5));
  if (state != Slot::State::kFilled) {
    while (pair.slot().state() != state) std::this_thread::yield();
    kill(process.pid(), SIGKILL);
  }
  for (std::int64_t step = 6; step < 9; ++step) {
    pair.Encode(ContextOf(step), random);
    pair.Finish(ContextOf(step));
  }
  EXPECT_FALSE(process.alive());
  pair.CompareStates();
}

std::string NameOfState(const testing::TestParamInfo<Slot::State>& state) {
  constexpr std::array kNames = {"Free", "Filled", "Compressed", "Sent"};
  return kNames[static_cast<std::size_t>(state.param)];
}

INSTANTIATE_TEST_SUITE_P(States, KilledAt,
                         testing::Values(Slot::State::kFree, Slot::State::kFilled,
                                         Slot::State::kCompressed, Slot::State::kSent),
                         NameOfState);

// Another tensor's call has found it dead.
TEST(CompressionProcessTest, AStepIsRevertedAfterADeathThatIsKnown) {
  CompressionProcess process(1);
  Pair pair(process, kChoices[0]), other(process, kChoices[0]);
  std::mt19937 random(5);
  for (Pair* one : {&pair, &other}) {
    one->Encode(ContextOf(2), random);
    one->Finish(ContextOf(2));
  }
  while (pair.slot().state() != Slot::State::kFree) std::this_thread::yield();
  kill(process.pid(), SIGKILL);
  other.Encode(ContextOf(3), random);
  EXPECT_FALSE(process.alive());
  pair.plain->Revert();
  pair.apart->Revert();
  pair.CompareStates();
  pair.Encode(ContextOf(3), random);
}

TEST(CompressionProcessTest, EndsThoughAForkedProcessHoldsItsSocket) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  pid_t forked = -1;
  {
    CompressionProcess process(1);
    Pair pair(process, kChoices[0]);
    forked = fork();
    if (forked == 0) {
      bool refused = false;
      try {
        pair.apart->State();
        std::mt19937 random(1);
        pair.Encode(ContextOf(2), random);
      } catch (const ShutDown&) {
        refused = true;
      }
      close(ends[1]);
      char end = 0;
      if (read(ends[0], &end, 1) < 0) _exit(2);
      _exit(refused ? 0 : 1);
    }
    std::mt19937 random(1);
    pair.Encode(ContextOf(2), random);
  }
  close(ends[1]);
  int status = 0;
  ASSERT_EQ(waitpid(forked, &status, 0), forked);
  EXPECT_EQ(status, 0) << "it was not refused";
  close(ends[0]);
}

TEST(CompressionProcessTest, WhatGainsNothingStaysInTheProgram) {
  CompressionProcess process(1);
  const CompressionOptions bias = {
      {"compressor", "dgc"}, {"density", "0.01"}, {"min_elements", "100000"}};
  for (const CompressionOptions& options : {CompressionOptions{{"compressor", "dense"}},
                                            {{"compressor", "fp16"}},
                                            {{"compressor", "powersgd"}},
                                            bias}) {
    auto local = MakeCompressor(options, kTensor);
    const Compressor* const before = local.get();
    EXPECT_EQ(ProcessCompressor::Make(process, {options, kTensor}, std::move(local)).get(), before)
        << options.at("compressor");
  }
}

TEST(CompressionProcessTest, SmallTensorsStayInTheProgram) {
  CompressionProcess process(1);
  const TensorSpec small{"small", Shape{100, 100}};
  auto local = MakeCompressor(kChoices[0], small);
  const Compressor* const before = local.get();
  EXPECT_EQ(ProcessCompressor::Make(process, {kChoices[0], small}, std::move(local)).get(), before);
}

TEST(CompressionProcessTest, AProgramThatIsNotThereIsNamed) {
  try {
    CompressionProcess process(1, "/nowhere/weir-compressor");
    FAIL() << "started";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                testing::HasSubstr("cannot start /nowhere/weir-compressor: No such file"));
  }
}

}  // namespace
}  // namespace weir::process_compressor_test
