#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "compression/dgc/dgc.h"
#include "compression/dgc/dgc_math.h"
#include "compression/dgc/weight_decay.h"
#include "compression/wire/sparse_payload.h"
#include "tests/compression/dgc/simulated_ranks.h"
#include "tests/compression/wire/sparse_sample.h"
#include "weir/error.h"

/// Identities that DGC must satisfy in any implementation. Their numbers
/// are in the names of the tests.
namespace weir {
namespace {

constexpr float kM = 0.9f;
constexpr unsigned kSeed = 20180430;
constexpr Momentum kBoth[] = {Momentum::kVanilla, Momentum::kNesterov};

SimulatedRanks MakeRanks(std::size_t ranks, std::size_t n, Momentum momentum, Masking masking,
                         ValueType values = ValueType::kFloat32) {
  const DgcSettings settings{{momentum, kM, masking}, values};
  return {ranks, n, [=] { return std::make_unique<Dgc>(settings, n); }};
}

/// Momentum SGD on the mean gradient, in double.
class DenseSgd {
 public:
  DenseSgd(Momentum momentum, std::size_t n) : momentum_(momentum), u_(n) {}

  std::vector<double> Step(const std::vector<std::vector<float>>& gradients) {
    std::vector<double> direction(u_.size());
    for (std::size_t i = 0; i < u_.size(); ++i) {
      double g = 0;
      for (const auto& gradient : gradients) g += gradient[i];
      g /= static_cast<double>(gradients.size());
      const bool nesterov = momentum_ == Momentum::kNesterov;
      u_[i] = nesterov ? kM * (u_[i] + g) : kM * u_[i] + g;
      direction[i] = nesterov ? u_[i] + g : u_[i];
    }
    return direction;
  }

 private:
  Momentum momentum_;
  std::vector<double> u_;
};

void ExpectNear(const std::vector<float>& found, const std::vector<double>& wanted,
                double tolerance) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], wanted[i], tolerance);
}

TEST(DgcIdentities, 1_EverythingSentWithoutMaskingIsDenseMomentumSgd) {
  for (Momentum momentum : kBoth) {
    std::mt19937 random(kSeed);
    auto ranks = MakeRanks(4, 500, momentum, Masking::kNone);
    DenseSgd dense(momentum, 500);
    for (int t = 0; t < 100; ++t) {
      const auto gradients = NormalGradients(4, 500, random);
      // |direction| stays below 20, and float rounding errors decay with m like u itself.
      ExpectNear(ranks.Step({.step = t, .density = 1.0}, gradients), dense.Step(gradients), 2e-5);
    }
  }
}

TEST(DgcIdentities, 2_EverythingSentWithMaskingIsSgdWithoutMomentum) {
  for (Momentum momentum : kBoth) {
    std::mt19937 random(kSeed);
    auto ranks = MakeRanks(4, 500, momentum, Masking::kAll);
    const double factor = momentum == Momentum::kNesterov ? 1.0 + kM : 1.0;
    for (int t = 0; t < 50; ++t) {
      const auto gradients = NormalGradients(4, 500, random);
      std::vector<double> sgd(500);
      for (const auto& gradient : gradients) {
        for (std::size_t i = 0; i < 500; ++i) sgd[i] += factor * gradient[i] / 4;
      }
      ExpectNear(ranks.Step({.step = t, .density = 1.0}, gradients), sgd, 2e-6);
    }
  }
}

/// Flushing and keeping lose no momentum: a gradient gives 1 / (1 - m) of itself in all, as in
/// dense momentum SGD, of which a part is sent, a part waits in v, and u gives the rest.
void ExpectMomentumIsConserved(Masking masking) {
  const std::size_t n = 2000;
  for (const ValueType type : test::kAllValueTypes) {
    for (const Momentum momentum : kBoth) {
      std::mt19937 random(kSeed);
      auto ranks = MakeRanks(1, n, momentum, masking, type);
      std::vector<double> given(n), sent(n);
      for (int t = 0; t < 200; ++t) {
        const auto gradients = NormalGradients(1, n, random);
        const auto now = ranks.Step({.step = t, .density = 0.02}, gradients);
        const auto u = StateOf(ranks[0], "momentum");
        const auto v = StateOf(ranks[0], "velocity");
        for (std::size_t i = 0; i < n; ++i) {
          given[i] += gradients[0][i] / (1.0 - kM);
          sent[i] += now[i];
          ASSERT_NEAR(sent[i] + v[i] + u[i] * kM / (1.0 - kM), given[i],
                      1e-4 * (1.0 + static_cast<double>(t) / 20))
              << "entry " << i << ", step " << t;
        }
      }
    }
  }
}

TEST(DgcIdentities, MomentumThatIsFlushedOrKeptIsConserved) {
  for (const Masking masking : {Masking::kFlush, Masking::kNone, Masking::kAuto}) {
    ExpectMomentumIsConserved(masking);
  }
}

/// With all entries sent, flushing is SGD without momentum at 1 / (1 - m) times the rate.
TEST(DgcIdentities, EverythingSentAndFlushedIsSgdAtTheRateOfMomentum) {
  for (const Momentum momentum : kBoth) {
    std::mt19937 random(kSeed);
    auto ranks = MakeRanks(4, 500, momentum, Masking::kFlush);
    for (int t = 0; t < 50; ++t) {
      const auto gradients = NormalGradients(4, 500, random);
      std::vector<double> sgd(500);
      for (const auto& gradient : gradients) {
        for (std::size_t i = 0; i < 500; ++i) sgd[i] += gradient[i] / (1.0 - kM) / 4;
      }
      ExpectNear(ranks.Step({.step = t, .density = 1.0}, gradients), sgd, 2e-5);
    }
  }
}

TEST(DgcIdentities, 3_WhatWasSentAndWhatRemainsIsWhatWasAdded) {
  const std::size_t n = 2000;
  for (const ValueType type : test::kAllValueTypes) {
    for (Momentum momentum : {Momentum::kNone, Momentum::kVanilla, Momentum::kNesterov}) {
      std::mt19937 random(kSeed);
      auto ranks = MakeRanks(1, n, momentum, Masking::kAll, type);
      std::vector<double> added(n), sent(n), bound(n);
      std::vector<float> u(n);
      for (int t = 0; t < 200; ++t) {
        const auto gradients = NormalGradients(1, n, random);
        const auto now = ranks.Step({.step = t, .density = 0.02}, gradients);
        const auto v = StateOf(ranks[0], "velocity");
        for (std::size_t i = 0; i < n; ++i) {
          added[i] += AdvanceMomentum(momentum, kM, gradients[0][i], u[i]);
          sent[i] += now[i];
          if (now[i] != 0.0f) u[i] = 0.0f;
          // One rounding a step: half an ulp of the largest v there was.
          bound[i] += std::ldexp(std::abs(v[i]) + std::abs(now[i]), -24);
          ASSERT_NEAR(sent[i] + v[i], added[i], bound[i]) << "entry " << i << ", step " << t;
        }
      }
    }
  }
}

/// A constant gradient on 1 / density entries, of which the longest waiting one is sent each step;
/// returns what one entry gets relative to dense momentum SGD.
double SimulatedGain(Momentum momentum, std::size_t interval, bool compensated) {
  const DgcSettings settings{{momentum, kM, Masking::kAll}, ValueType::kFloat32, compensated};
  SimulatedRanks ranks(1, interval, [&] { return std::make_unique<Dgc>(settings, interval); });
  const std::vector<std::vector<float>> gradient(1, std::vector<float>(interval, 1.0f));
  const double density = 1.0 / static_cast<double>(interval);
  double total = 0;
  const int cycles = 3;
  const auto steps = static_cast<std::int64_t>(interval);
  for (std::int64_t t = 0; t < (cycles + 1) * steps; ++t) {
    const auto sent = ranks.Step({.step = t, .density = density}, gradient);
    if (t < steps) continue;  // The first cycle starts with nobody waiting.
    for (float x : sent) total += x;
  }
  const double entry_steps = static_cast<double>(interval * interval) * cycles;
  return total / entry_steps * (1.0 - kM);
}

TEST(DgcIdentities, 4_MaskingGainAtTheWarmUpDensities) {
  const std::size_t intervals[] = {1, 4, 16, 64, 250, 1000};
  const double vanilla[] = {0.10, 0.226, 0.542, 0.860, 0.964, 0.991};
  const double nesterov[] = {0.19, 0.304, 0.588, 0.874, 0.968, 0.992};
  for (std::size_t i = 0; i < 6; ++i) {
    const auto interval = static_cast<double>(intervals[i]);
    for (Momentum momentum : kBoth) {
      const double wanted = momentum == Momentum::kVanilla ? vanilla[i] : nesterov[i];
      EXPECT_NEAR(MaskingGain(momentum, 0.9, interval), wanted, 6e-4);
      EXPECT_NEAR(SimulatedGain(momentum, intervals[i], false), wanted, 6e-4);
      EXPECT_NEAR(SimulatedGain(momentum, intervals[i], true), 1.0, 1e-4);
    }
  }
}

TEST(DgcIdentities, 5_TheHandOffAddsToVWhatDenseWouldHaveApplied) {
  const std::size_t n = 300;
  for (Momentum momentum : kBoth) {
    std::mt19937 random(kSeed);
    auto sparse = MakeRanks(1, n, momentum, Masking::kAll);
    auto dense = MakeRanks(1, n, momentum, Masking::kAll);
    for (int t = 0; t < 20; ++t) {
      const auto gradients = NormalGradients(1, n, random);
      sparse.Step({.step = t, .dense_phase = true}, gradients);
      dense.Step({.step = t, .dense_phase = true}, gradients);
    }
    for (float x : StateOf(sparse[0], "velocity")) ASSERT_EQ(x, 0.0f);
    const auto gradients = NormalGradients(1, n, random);
    const auto applied = dense.Step({.step = 20, .dense_phase = true}, gradients);
    auto added = sparse.Step({.step = 20, .density = 0.1}, gradients);
    const auto v = StateOf(sparse[0], "velocity");
    for (std::size_t i = 0; i < n; ++i) added[i] += v[i];
    EXPECT_EQ(BitsOf(added), BitsOf(applied));
  }
}

TEST(DgcIdentities, 5_TheHandOffOnSeveralRanksAddsTheDenseVectorOnAverage) {
  const std::size_t n = 300;
  for (Momentum momentum : kBoth) {
    std::mt19937 random(kSeed);
    auto ranks = MakeRanks(4, n, momentum, Masking::kAll);
    DenseSgd dense(momentum, n);
    for (int t = 0; t < 20; ++t) {
      const auto gradients = NormalGradients(4, n, random);
      ExpectNear(ranks.Step({.step = t, .dense_phase = true}, gradients), dense.Step(gradients),
                 1e-5);
    }
    for (std::size_t r = 1; r < 4; ++r) {
      EXPECT_EQ(BitsOf(StateOf(ranks[r], "momentum")), BitsOf(StateOf(ranks[0], "momentum")));
    }
    const auto gradients = NormalGradients(4, n, random);
    auto added = ranks.Step({.step = 20, .density = 0.1}, gradients);
    for (std::size_t r = 0; r < 4; ++r) {
      const auto v = StateOf(ranks[r], "velocity");
      for (std::size_t i = 0; i < n; ++i) added[i] += v[i] / 4;
    }
    ExpectNear(added, dense.Step(gradients), 1e-5);
  }
}

TEST(DgcIdentities, 6_WeightDecayAloneIsThatOfDenseMomentumSgd) {
  const std::size_t n = 200;
  const float lambda = 1e-2f;
  const float rate = 0.1f;
  for (Momentum momentum : kBoth) {
    std::mt19937 random(kSeed);
    std::vector<float> weights = NormalGradients(1, n, random)[0];
    std::vector<float> dense = weights;
    std::vector<float> u(n);
    WeightDecay decay(momentum, kM, lambda, n);
    auto ranks = MakeRanks(2, n, momentum, Masking::kAll);
    const std::vector<std::vector<float>> zeros(2, std::vector<float>(n));
    for (int t = 0; t < 100; ++t) {
      auto direction = ranks.Step({.step = t, .density = 0.05}, zeros);
      decay.Apply(weights, direction);
      for (std::size_t i = 0; i < n; ++i) {
        weights[i] -= rate * direction[i];
        dense[i] -= rate * AdvanceMomentum(momentum, kM, lambda * dense[i], u[i]);
      }
      ASSERT_EQ(BitsOf(weights), BitsOf(dense));
    }
    EXPECT_NE(weights[0], 0.0f);
  }
}

/// The payload has exactly k entries: k are allowed, k - 1 are too few.
void ExpectEntries(std::span<const std::byte> payload, std::size_t n, std::size_t k) {
  std::vector<float> sum(n);
  EXPECT_EQ(payload.size(), SparsePayloadBytes(n, k, ValueType::kFloat16));
  EXPECT_NO_THROW(MergeSparse(payload, {n, k, ValueType::kFloat16}, sum));
  EXPECT_THROW(MergeSparse(payload, {n, k - 1, ValueType::kFloat16}, sum), Corrupt);
}

TEST(DgcIdentities, 7_ExactlyKAreSentAlways) {
  std::mt19937 random(kSeed);
  for (std::size_t n : {1, 3, 1000, 70000}) {
    auto ranks = MakeRanks(1, n, Momentum::kVanilla, Masking::kAll, ValueType::kFloat16);
    int t = 0;
    for (double density : {1.0, 0.3, 0.01, 0.001, 1e-7}) {
      const std::size_t k = EntriesToSend(n, density);
      for (int kind = 0; kind < 3; ++kind) {
        auto gradients = NormalGradients(1, n, random);
        if (kind == 1) gradients[0].assign(n, 0.0f);
        if (kind == 2) gradients[0].assign(n, 1.0f);
        ranks.Step({.step = t++, .density = density}, gradients);
        ExpectEntries(ranks.payloads()[0], n, k);
      }
    }
  }
}

TEST(DgcIdentities, 7_NoNanStaysHidden) {
  const std::size_t n = 5000;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (Momentum momentum : kBoth) {
    std::mt19937 random(kSeed);
    auto ranks = MakeRanks(2, n, momentum, Masking::kAll, ValueType::kFloat16);
    for (int t = 0; t < 50; ++t) {
      auto gradients = NormalGradients(2, n, random);
      if (t < 10) gradients[0][random() % n] = nan;
      if (t == 5) StateOf(ranks[1], "velocity")[17] = nan;
      if (t == 7) StateOf(ranks[1], "momentum")[99] = -nan;
      for (float x : ranks.Step({.step = t, .density = 0.001}, gradients)) {
        ASSERT_TRUE(std::isfinite(x));
      }
    }
    EXPECT_EQ(ranks[0].non_finite_entries(), 10u);
    EXPECT_EQ(ranks[1].non_finite_entries(), 2u);
    for (std::size_t r = 0; r < 2; ++r) {
      for (const auto& array : ranks[r].State()) {
        for (float x : array.values) ASSERT_TRUE(std::isfinite(x)) << array.name;
      }
    }
  }
}

TEST(DgcIdentities, 8_ReplicasAreIdenticalOverAThousandSteps) {
  const std::size_t n = 400;
  for (const ValueType type : {ValueType::kFloat16, ValueType::kInt8, ValueType::kInt2}) {
    std::mt19937 random(kSeed);
    auto ranks = MakeRanks(4, n, Momentum::kNesterov, Masking::kAll, type);
    for (int t = 0; t < 1000; ++t) {
      // Step itself compares the ranks' directions bit for bit.
      ranks.Step({.step = t, .dense_phase = t < 20, .density = 0.01},
                 NormalGradients(4, n, random));
      ASSERT_FALSE(HasFailure()) << "step " << t;
    }
  }
}

TEST(DgcIdentities, 9_RestoredIsNeverStopped) {
  const std::size_t n = 50000;
  for (const ValueType type : {ValueType::kFloat16, ValueType::kFloat32, ValueType::kInt2}) {
    auto all = MakeRanks(2, n, Momentum::kVanilla, Masking::kAll, type);
    auto first = MakeRanks(2, n, Momentum::kVanilla, Masking::kAll, type);
    auto second = MakeRanks(2, n, Momentum::kVanilla, Masking::kAll, type);
    std::mt19937 random(kSeed);
    for (int t = 0; t < 40; ++t) {
      const auto gradients = NormalGradients(2, n, random);
      const StepContext context{.step = t, .dense_phase = t < 5, .density = t < 15 ? 0.1 : 0.001};
      if (t == 20) {
        for (std::size_t r = 0; r < 2; ++r) LoadState(CopyState(first[r]), second[r]);
      }
      const auto wanted = all.Step(context, gradients);
      const auto found = (t < 20 ? first : second).Step(context, gradients);
      ASSERT_EQ(BitsOf(found), BitsOf(wanted)) << "step " << t;
    }
    for (std::size_t r = 0; r < 2; ++r) {
      const auto wanted = CopyState(all[r]);
      const auto found = CopyState(second[r]);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_EQ(BitsOf(found[i]), BitsOf(wanted[i]));
      }
    }
  }
}

}  // namespace
}  // namespace weir
