#include "compression/dgc/dense_momentum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/compression/dgc/simulated_ranks.h"
#include "tests/compression/wire/sparse_sample.h"

namespace weir {
namespace {

constexpr std::size_t kN = 300;

SimulatedRanks MakeRanks(Momentum momentum, ValueType values) {
  return {3, kN, [=] { return std::make_unique<DenseMomentum>(momentum, 0.9f, values, kN); }};
}

TEST(DenseMomentum, WithFullPrecisionIsDenseMomentumSgdExactly) {
  for (Momentum momentum : {Momentum::kNone, Momentum::kVanilla, Momentum::kNesterov}) {
    std::mt19937 random(1);
    auto ranks = MakeRanks(momentum, ValueType::kFloat32);
    std::vector<float> u(kN);
    for (int t = 0; t < 50; ++t) {
      const auto gradients = NormalGradients(3, kN, random);
      std::vector<float> wanted(kN);
      for (std::size_t i = 0; i < kN; ++i) {
        const float mean = (gradients[0][i] + gradients[1][i] + gradients[2][i]) / 3.0f;
        wanted[i] = AdvanceMomentum(momentum, 0.9f, mean, u[i]);
      }
      // A dense phase before changes nothing: the same u, the same recursion.
      const StepContext context{.step = t, .dense_phase = t < 10};
      ASSERT_EQ(BitsOf(ranks.Step(context, gradients)), BitsOf(wanted)) << "step " << t;
    }
  }
}

/// The largest error that any entry is left with, on average over the ranks.
double ErrorAfterManySteps(ValueType type) {
  std::mt19937 random(2);
  auto ranks = MakeRanks(Momentum::kNone, type);
  std::vector<double> sent(kN), given(kN);
  for (int t = 0; t < 200; ++t) {
    auto gradients = NormalGradients(3, kN, random);
    for (auto& gradient : gradients) gradient[7] = 1e-6f;  // Far below the scale of the others.
    const auto mean = ranks.Step({.step = t}, gradients);
    for (std::size_t i = 0; i < kN; ++i) {
      sent[i] += mean[i];
      for (std::size_t r = 0; r < 3; ++r) given[i] += gradients[r][i] / 3.0;
    }
  }
  double largest = 0;
  for (std::size_t i = 0; i < kN; ++i) {
    double error = 0;
    for (std::size_t r = 0; r < 3; ++r) error += StateOf(ranks[r], "error")[i] / 3.0;
    // The mean is rounded to float once a step.
    EXPECT_NEAR(sent[i] + error, given[i], 200 * std::ldexp(4.0, -24)) << "entry " << i;
    largest = std::max(largest, std::abs(error));
  }
  return largest;
}

TEST(DenseMomentum, RoundingLosesNothingOverTime) {
  EXPECT_LE(ErrorAfterManySteps(ValueType::kFloat16), 4e-3);
  // Half a step of the largest, which is below 6.
  EXPECT_LE(ErrorAfterManySteps(ValueType::kInt8), 6.0 / 127 / 2);
  EXPECT_LE(ErrorAfterManySteps(ValueType::kInt4), 6.0 / 7 / 2);
  // Errors of two bits come back and grow, but not for ever.
  EXPECT_LE(ErrorAfterManySteps(ValueType::kInt2), 10.0);
}

TEST(DenseMomentum, RevertLeavesTheWholeGradientForTheNextStep) {
  for (const ValueType type : test::kAllValueTypes) {
    std::mt19937 random(3);
    DenseMomentum compressor(Momentum::kVanilla, 0.9f, type, kN);
    std::vector<std::byte> payload(compressor.MaxEncodedBytes(1.0));
    std::vector<float> all(kN);
    for (int t = 0; t < 10; ++t) {
      const auto gradient = NormalGradients(1, kN, random)[0];
      compressor.Encode({.step = t}, gradient, payload);
      compressor.Revert();
      for (std::size_t i = 0; i < kN; ++i) all[i] += gradient[i];
      ASSERT_EQ(BitsOf(StateOf(compressor, "error")), BitsOf(all)) << "step " << t;
    }
    compressor.Revert();
    EXPECT_EQ(BitsOf(StateOf(compressor, "error")), BitsOf(all));
  }
}

TEST(DenseMomentum, NonFiniteGradientsCountAsZero) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  DenseMomentum compressor(Momentum::kVanilla, 0.9f, ValueType::kFloat16, 3);
  std::vector<std::byte> payload(compressor.MaxEncodedBytes(1.0));
  compressor.Encode({}, std::vector<float>{nan, 1.0f, -infinity}, payload);
  std::vector<float> sum(3);
  compressor.Merge(payload, sum);
  EXPECT_EQ(sum, (std::vector<float>{0.0f, 1.0f, 0.0f}));
  EXPECT_EQ(compressor.non_finite_entries(), 2u);
}

TEST(DenseMomentum, OverflowingErrorIsCleared) {
  DenseMomentum compressor(Momentum::kVanilla, 0.9f, ValueType::kFloat32, 1);
  std::vector<std::byte> payload(compressor.MaxEncodedBytes(1.0));
  for (int t = 0; t < 2; ++t) {
    compressor.Encode({.step = t}, std::vector<float>{3e38f}, payload);
    compressor.Revert();
  }
  EXPECT_EQ(StateOf(compressor, "error")[0], 0.0f);
  EXPECT_EQ(compressor.non_finite_entries(), 1u);
}

TEST(DenseMomentum, RestoredIsNeverStopped) {
  std::mt19937 random(4);
  auto all = MakeRanks(Momentum::kNesterov, ValueType::kFloat16);
  auto first = MakeRanks(Momentum::kNesterov, ValueType::kFloat16);
  auto second = MakeRanks(Momentum::kNesterov, ValueType::kFloat16);
  for (int t = 0; t < 20; ++t) {
    const auto gradients = NormalGradients(3, kN, random);
    if (t == 10) {
      for (std::size_t r = 0; r < 3; ++r) LoadState(CopyState(first[r]), second[r]);
    }
    const auto wanted = all.Step({.step = t}, gradients);
    ASSERT_EQ(BitsOf((t < 10 ? first : second).Step({.step = t}, gradients)), BitsOf(wanted));
  }
}

}  // namespace
}  // namespace weir
