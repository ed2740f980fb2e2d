// Deep Gradient Compression of Adam's steps (momentum=adam).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "common/threads/thread_pool.h"
#include "compression/dgc/adam_moments.h"
#include "compression/dgc/dense_momentum.h"
#include "compression/dgc/dgc.h"
#include "compression/dgc/joint_selection.h"
#include "compression/state/state.h"
#include "tests/compression/dgc/simulated_ranks.h"

namespace weir {
namespace {

constexpr std::size_t kElements = 500;
constexpr float kRate = 0.01f;
const AdamSettings kAdam{.beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-6};

StepContext ContextOf(int step, double density) {
  // A schedule of the learning rate is in what is accumulated.
  return {.step = step, .density = density, .learning_rate = kRate / static_cast<float>(1 + step)};
}

/// Adam on one stream of gradients, as its paper has it, in double.
class Reference {
 public:
  explicit Reference(std::size_t n) : u_(n), s_(n) {}

  std::vector<double> Step(double rate, std::span<const float> gradient) {
    ++t_;
    std::vector<double> step(u_.size());
    for (std::size_t i = 0; i < u_.size(); ++i) {
      const double g = gradient[i];
      u_[i] = kAdam.beta1 * u_[i] + (1.0 - kAdam.beta1) * g;
      s_[i] = kAdam.beta2 * s_[i] + (1.0 - kAdam.beta2) * g * g;
      const double u_hat = u_[i] / (1.0 - std::pow(kAdam.beta1, t_));
      const double s_hat = s_[i] / (1.0 - std::pow(kAdam.beta2, t_));
      step[i] = rate * u_hat / (std::sqrt(s_hat) + kAdam.epsilon);
    }
    return step;
  }

 private:
  std::vector<double> u_;
  std::vector<double> s_;
  int t_ = 0;
};

DgcSettings SettingsOf(ValueType values = ValueType::kFloat32) {
  return {.rule = {.momentum = Momentum::kNone}, .values = values, .adam = kAdam};
}

SimulatedRanks RanksOf(std::size_t ranks, std::size_t n = kElements) {
  return {ranks, n, [n] { return std::make_unique<Dgc>(SettingsOf(), n); }};
}

TEST(Adam, MomentsGiveTheStepOfThePaper) {
  std::mt19937 random(1);
  AdamMoments moments(kAdam, kElements);
  Reference reference(kElements);
  std::vector<float> step(kElements);
  for (int t = 0; t < 100; ++t) {
    const std::vector<float> gradient = NormalGradients(1, kElements, random)[0];
    moments.Advance(kRate, 1.0f, gradient, step);
    const auto expected = reference.Step(static_cast<double>(kRate), gradient);
    // A step is about as long as the rate; a dozen roundings of fp32, of sums of a few terms.
    for (std::size_t i = 0; i < kElements; ++i) ASSERT_NEAR(step[i], expected[i], kRate * 2e-6);
  }
}

// In fp32, for in the first steps all entries of v are about as large and rounding chooses.
TEST(Adam, WhatRanksSendAreTheLargestOfTheirOwnSteps) {
  for (const std::size_t ranks : {1, 2, 3}) {
    std::mt19937 random(2);
    auto simulated = RanksOf(ranks);
    std::vector<AdamMoments> moments;
    for (std::size_t r = 0; r < ranks; ++r) moments.emplace_back(kAdam, kElements);
    std::vector<std::vector<float>> v(ranks, std::vector<float>(kElements));
    std::vector<float> step(kElements);
    for (int t = 0; t < 60; ++t) {
      const auto gradients = NormalGradients(ranks, kElements, random);
      const StepContext context = ContextOf(t, 0.05);
      std::vector<float> expected(kElements);
      for (std::size_t r = 0; r < ranks; ++r) {
        moments[r].Advance(context.learning_rate, 1.0f, gradients[r], step);
        for (std::size_t i = 0; i < kElements; ++i) v[r][i] += step[i];
        std::vector<std::size_t> order(kElements);
        std::iota(order.begin(), order.end(), 0);
        std::ranges::stable_sort(
            order, [&](auto a, auto b) { return std::fabs(v[r][a]) > std::fabs(v[r][b]); });
        for (std::size_t i = 0; i < 25; ++i) {
          expected[order[i]] += v[r][order[i]];
          v[r][order[i]] = 0.0f;
        }
      }
      for (float& x : expected) x /= static_cast<float>(ranks);
      ASSERT_EQ(BitsOf(simulated.Step(context, gradients)), BitsOf(expected)) << "step " << t;
    }
  }
}

TEST(Adam, EverythingSentIsDistributedAdamOfOneRank) {
  std::mt19937 random(3);
  auto simulated = RanksOf(1);
  Reference reference(kElements);
  for (int t = 0; t < 100; ++t) {
    const auto gradients = NormalGradients(1, kElements, random);
    const StepContext context = ContextOf(t, 1.0);
    const std::vector<float> update = simulated.Step(context, gradients);
    const auto expected = reference.Step(static_cast<double>(context.learning_rate), gradients[0]);
    for (std::size_t i = 0; i < kElements; ++i) ASSERT_NEAR(update[i], expected[i], kRate * 2e-6);
  }
}

// Before rampup_begin_step Adam follows on the mean; its moments are those that go on.
TEST(Adam, TheDensePhaseHandsItsMomentsOver) {
  std::mt19937 random(4);
  auto simulated = RanksOf(3);
  Reference reference(kElements);
  for (int t = 0; t < 10; ++t) {
    StepContext context = ContextOf(t, 1.0);
    context.dense_phase = t < 6;
    auto gradients = NormalGradients(3, kElements, random);
    // Alike from the hand-over on, so that the mean of steps is the step of means.
    if (!context.dense_phase) gradients[1] = gradients[2] = gradients[0];
    std::vector<float> mean(kElements);
    for (std::size_t i = 0; i < kElements; ++i) {
      mean[i] = (gradients[0][i] + gradients[1][i] + gradients[2][i]) / 3.0f;
    }
    const std::vector<float> update = simulated.Step(context, gradients);
    const auto expected = reference.Step(static_cast<double>(context.learning_rate), mean);
    for (std::size_t i = 0; i < kElements; ++i) {
      ASSERT_NEAR(update[i], expected[i], kRate * 4e-6) << "step " << t;
    }
  }
}

TEST(Adam, FollowsOnTheMeanOfWhatTravelsDense) {
  std::mt19937 random(5);
  SimulatedRanks simulated(2, kElements, [] {
    return std::make_unique<DenseMomentum>(kAdam, ValueType::kFloat32, kElements);
  });
  Reference reference(kElements);
  for (int t = 0; t < 50; ++t) {
    const auto gradients = NormalGradients(2, kElements, random);
    const StepContext context = ContextOf(t, 0.01);
    std::vector<float> mean(kElements);
    for (std::size_t i = 0; i < kElements; ++i) mean[i] = (gradients[0][i] + gradients[1][i]) / 2;
    const std::vector<float> update = simulated.Step(context, gradients);
    const auto expected = reference.Step(static_cast<double>(context.learning_rate), mean);
    for (std::size_t i = 0; i < kElements; ++i) ASSERT_NEAR(update[i], expected[i], kRate * 2e-6);
  }
}

TEST(Adam, TakesTheScaleOfGradientsOff) {
  std::mt19937 random(6);
  auto plain = RanksOf(1);
  auto scaled = RanksOf(1);
  for (int t = 0; t < 5; ++t) {
    auto gradients = NormalGradients(1, kElements, random);
    StepContext context = ContextOf(t, 0.1);
    const std::vector<float> expected = plain.Step(context, gradients);
    for (float& g : gradients[0]) g *= 1024.0f;
    context.gradient_scale = 1.0f / 1024.0f;
    EXPECT_EQ(BitsOf(scaled.Step(context, gradients)), BitsOf(expected));
  }
}

TEST(Adam, SameBitsForAnyThreadCount) {
  constexpr std::size_t kLarge = 300'000;
  std::mt19937 random(7);
  ThreadPool pool(4);
  auto alone = RanksOf(1, kLarge);
  auto shared = RanksOf(1, kLarge);
  for (int t = 0; t < 4; ++t) {
    const auto gradients = NormalGradients(1, kLarge, random);
    StepContext context = ContextOf(t, 0.001);
    const std::vector<float> expected = alone.Step(context, gradients);
    context.pool = &pool;
    EXPECT_TRUE(BitsOf(shared.Step(context, gradients)) == BitsOf(expected));
  }
}

TEST(Adam, WhatIsNotFiniteCountsAsZeroAndPoisonsNothing) {
  auto ranks = RanksOf(1);
  std::vector<std::vector<float>> gradients(1, std::vector<float>(kElements, 1.0f));
  gradients[0][3] = std::numeric_limits<float>::quiet_NaN();
  gradients[0][4] = -std::numeric_limits<float>::infinity();
  gradients[0][5] = 1e30f;  // Its square is not.
  ranks.Step(ContextOf(0, 0.1), gradients);
  EXPECT_EQ(ranks[0].non_finite_entries(), 3u);
  gradients[0].assign(kElements, 1.0f);
  const std::vector<float> update = ranks.Step(ContextOf(1, 1.0), gradients);
  for (const std::size_t i : {3, 4, 5}) {
    EXPECT_GT(update[i], 0.0f);
    EXPECT_LT(update[i], kRate);
  }
}

TEST(Adam, AnEntryWithoutAGradientStandsStillWithoutEpsilonToo) {
  AdamMoments moments({.epsilon = 0.0}, 3);
  const std::vector<float> gradient = {0.0f, 1.0f, 0.0f};
  std::vector<float> step(3);
  moments.Advance(kRate, 1.0f, gradient, step);
  EXPECT_EQ(step[0], 0.0f);
  EXPECT_NEAR(step[1], kRate, kRate * 1e-6);
}

TEST(Adam, GoesOnFromItsStateBitForBit) {
  std::mt19937 random(8);
  auto going_on = RanksOf(2);
  for (int t = 0; t < 5; ++t) {
    going_on.Step(ContextOf(t, 0.05), NormalGradients(2, kElements, random));
  }
  auto resumed = RanksOf(2);
  for (const std::size_t r : {0, 1}) {
    LoadState(CopyState(going_on[r]), resumed[r]);
    resumed[r].Restored();
  }
  for (int t = 5; t < 10; ++t) {
    const auto gradients = NormalGradients(2, kElements, random);
    EXPECT_EQ(BitsOf(resumed.Step(ContextOf(t, 0.05), gradients)),
              BitsOf(going_on.Step(ContextOf(t, 0.05), gradients)));
  }
}

TEST(Adam, RevertKeepsTheStepAndSendsNothing) {
  std::mt19937 random(9);
  Dgc dgc(SettingsOf(), kElements);
  const std::vector<float> gradient = NormalGradients(1, kElements, random)[0];
  AdamMoments moments(kAdam, kElements);
  std::vector<float> step(kElements);
  moments.Advance(kRate, 1.0f, gradient, step);
  std::vector<std::byte> payload(dgc.MaxEncodedBytes(0.1));
  dgc.Encode(ContextOf(0, 0.1), gradient, payload);
  dgc.Revert();
  EXPECT_TRUE(std::ranges::equal(StateOf(dgc, "velocity"), step));
}

TEST(Adam, MayBeSelectedOverSeveralTensors) {
  std::mt19937 random(10);
  DgcSettings settings = SettingsOf();
  settings.joint = true;
  Dgc dgc(settings, kElements);
  auto alone = RanksOf(1);
  JointSelection selection({dgc.joint()});
  for (int t = 0; t < 5; ++t) {
    const auto gradients = NormalGradients(1, kElements, random);
    const StepContext context = ContextOf(t, 0.05);
    alone.Step(context, gradients);
    selection.Begin(context.density);
    selection.Accumulate(*dgc.joint(), context, gradients[0]);
    selection.Select();
    std::vector<std::byte> payload(selection.MaxEncodedBytes(context.density));
    dgc.joint()->EncodeTaken(context, payload);
    EXPECT_EQ(CopyState(dgc), CopyState(alone[0]));
  }
}

// Moments are owed to nobody, so another number of ranks does not scale them.
TEST(Adam, RanksKeepTheirMomentsWhenTheirNumberChanges) {
  const auto state_of = [](int rank, float moment) {
    SavedState state{.ranks = 2, .rank = rank};
    state.arrays = {{"w", "first moment", {moment}},
                    {"w", "second moment", {moment * moment}},
                    {"w", "moment steps", {7.0f}},
                    {"w", "velocity", {moment}}};
    return state;
  };
  const std::vector<SavedState> two = {state_of(0, 1.0f), state_of(1, 3.0f)};
  const int origins[] = {0, 1, kNewRank};
  const SavedState second = Remap(two, origins, 1);
  EXPECT_EQ(second.arrays[0].values[0], 3.0f);
  EXPECT_EQ(second.arrays[1].values[0], 9.0f);
  EXPECT_EQ(second.arrays[3].values[0], 4.5f);  // Is owed.
  const SavedState joined = Remap(two, origins, 2);
  EXPECT_EQ(joined.arrays[0].values[0], 2.0f);
  EXPECT_EQ(joined.arrays[1].values[0], 5.0f);
  EXPECT_EQ(joined.arrays[2].values[0], 7.0f);
  EXPECT_EQ(joined.arrays[3].values[0], 0.0f);
}

}  // namespace
}  // namespace weir
