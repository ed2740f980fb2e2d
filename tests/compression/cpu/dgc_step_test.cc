#include "compression/cpu/dgc_step.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "compression/cpu/sampled_threshold.h"
#include "tests/compression/cpu/dgc_reference.h"

namespace weir::cpu {
namespace {

using Random = std::mt19937;
/// Fills the gradient of one step.
using Source = std::function<void(int step, Random&, std::vector<float>&)>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<std::uint32_t> Bits(std::span<const float> values) {
  std::vector<std::uint32_t> bits;
  for (float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

/// Compares bits, so that NaN equals itself and zeros of different sign differ.
testing::AssertionResult SameBits(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return testing::AssertionFailure() << a.size() << " != " << b.size();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) {
      return testing::AssertionFailure() << "[" << i << "]: " << a[i] << " != " << b[i];
    }
  }
  return testing::AssertionSuccess();
}

void Normal(int step, Random& random, std::vector<float>& g) {
  std::normal_distribution<float> normal(0.0f, std::pow(0.98f, static_cast<float>(step)));
  for (float& x : g) x = normal(random);
}

/// One run of a DgcStep beside the reference.
struct Run {
  std::size_t n = 1000;
  std::function<std::size_t(int step)> k = [](int) { return 10; };
  Source gradient = Normal;
  Momentum momentum = Momentum::kVanilla;
  Masking masking = Masking::kAll;
  float scale = 1.0f;
  int steps = 20;
  int threads = 1;
  bool always_cold = false;
};

/// Every step selects the same entries and leaves the same u and v as the reference, bit for bit.
void ExpectEqualToReference(const Run& run) {
  const unsigned seed = 1234 + static_cast<unsigned>(run.n);
  SCOPED_TRACE("seed " + std::to_string(seed) + ", n " + std::to_string(run.n) + ", momentum " +
               std::to_string(static_cast<int>(run.momentum)) + ", threads " +
               std::to_string(run.threads));
  Random random(seed);
  ThreadPool pool(run.threads);
  std::vector<float> u(run.momentum == Momentum::kNone ? 0 : run.n);
  std::vector<float> v(run.n);
  std::vector<float> g(run.n);
  DgcStep step({run.momentum, 0.9f, run.masking}, u, v);
  DgcReference reference(run.momentum, 0.9f, run.masking, run.n);
  for (int t = 0; t < run.steps; ++t) {
    SCOPED_TRACE("step " + std::to_string(t));
    run.gradient(t, random, g);
    const std::size_t k = run.k(t);
    if (run.always_cold) step.Forget();
    step.Select(g, run.scale, k, &pool);
    step.Settle(&pool);
    reference.Step(g, run.scale, k);
    ASSERT_EQ(std::vector(step.indices().begin(), step.indices().end()), reference.indices());
    ASSERT_TRUE(SameBits(step.values(), reference.values()));
    ASSERT_TRUE(SameBits(u, reference.u));
    ASSERT_TRUE(SameBits(v, reference.v));
  }
}

/// Each test runs once for every instruction set that this machine has.
class DgcStepTest : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};
INSTANTIATE_TEST_SUITE_P(Targets, DgcStepTest,
                         testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& target) { return hwy::TargetName(target.param); });

TEST_P(DgcStepTest, EqualsTheReferenceAtEverySize) {
  for (std::size_t n : {1, 2, 15, 16, 63, 64, 65, 1000, 4097, 10000, 300001}) {
    for (Momentum momentum : {Momentum::kNone, Momentum::kVanilla, Momentum::kNesterov}) {
      const std::size_t k = EntriesToSend(n, 0.001);
      ExpectEqualToReference({.n = n, .k = [&](int) { return k; }, .momentum = momentum});
    }
  }
}

TEST_P(DgcStepTest, EqualsTheReferenceForEveryThreadCountWarmAndCold) {
  for (int threads : {1, 2, 4}) {
    for (bool cold : {false, true}) {
      ExpectEqualToReference({.n = 400000,
                              .k = [](int) { return 400; },
                              .steps = 8,
                              .threads = threads,
                              .always_cold = cold});
    }
  }
}

TEST_P(DgcStepTest, EqualsTheReferenceAtEveryDensity) {
  const std::size_t n = 20000;
  for (double density : {1.0, 0.999, 0.5, 0.25, 0.0626, 0.0624, 0.01, 0.001, 1e-4, 1e-9}) {
    SCOPED_TRACE("density " + std::to_string(density));
    const std::size_t k = EntriesToSend(n, density);
    ExpectEqualToReference({.n = n, .k = [&](int) { return k; }});
  }
}

TEST_P(DgcStepTest, EqualsTheReferenceWhileKGrowsAndShrinks) {
  const std::vector<std::size_t> ks = {50000, 12500, 3125, 800, 200, 200, 1, 200, 400, 30000, 100};
  ExpectEqualToReference({.n = 200000,
                          .k = [&](int t) { return ks[static_cast<std::size_t>(t) % ks.size()]; },
                          .steps = 22});
}

TEST_P(DgcStepTest, EqualsTheReferenceWithoutMaskingAndWithAScale) {
  ExpectEqualToReference({.n = 9000, .masking = Masking::kNone, .scale = 1.0f / 1024});
  ExpectEqualToReference(
      {.n = 9000, .momentum = Momentum::kNesterov, .masking = Masking::kNone, .scale = 0.3f});
}

TEST_P(DgcStepTest, EqualsTheReferenceWithEachMasking) {
  for (const Masking masking : {Masking::kRatio, Masking::kFlush, Masking::kAuto}) {
    for (const Momentum momentum : {Momentum::kNone, Momentum::kVanilla, Momentum::kNesterov}) {
      for (const std::size_t n : {1, 17, 4097, 300001}) {
        for (const double density : {0.001, 0.05, 0.5}) {
          const std::size_t k = EntriesToSend(n, density);
          ExpectEqualToReference({.n = n,
                                  .k = [&](int) { return k; },
                                  .momentum = momentum,
                                  .masking = masking,
                                  .scale = 0.3f,
                                  .threads = n > 100000 ? 2 : 1});
        }
      }
    }
  }
}

TEST_P(DgcStepTest, TiesGoToTheLowerIndex) {
  const auto few_values = [](int, Random& random, std::vector<float>& g) {
    for (float& x : g) x = static_cast<float>(static_cast<int>(random() % 3) - 1);
  };
  const auto all_equal = [](int, Random&, std::vector<float>& g) { g.assign(g.size(), -2.0f); };
  for (std::size_t n : {100, 5000, 300000}) {
    for (int threads : {1, 4}) {
      ExpectEqualToReference(
          {.n = n, .k = [](int) { return 50; }, .gradient = few_values, .threads = threads});
      ExpectEqualToReference(
          {.n = n, .k = [](int) { return 50; }, .gradient = all_equal, .threads = threads});
    }
  }
}

TEST_P(DgcStepTest, AllZerosSendTheFirstEntries) {
  const auto zeros = [](int, Random&, std::vector<float>& g) { g.assign(g.size(), 0.0f); };
  for (std::size_t n : {1, 1000, 300000}) {
    ExpectEqualToReference({.n = n, .k = [](int) { return 1; }, .gradient = zeros, .threads = 4});
  }
  ExpectEqualToReference({.n = 300000, .k = [](int) { return 300; }, .gradient = zeros});
}

TEST_P(DgcStepTest, FewerNonZerosThanK) {
  const auto sparse = [](int t, Random& random, std::vector<float>& g) {
    g.assign(g.size(), 0.0f);
    for (int i = 0; i < 100 * (t % 3); ++i) g[random() % g.size()] = -1.0f;
  };
  ExpectEqualToReference(
      {.n = 300000, .k = [](int) { return 300; }, .gradient = sparse, .threads = 4});
}

TEST_P(DgcStepTest, SubnormalsCount) {
  const auto subnormal = [](int, Random& random, std::vector<float>& g) {
    for (float& x : g) x = std::bit_cast<float>(static_cast<std::uint32_t>(random() & 0x800fffffu));
  };
  for (std::size_t n : {500, 100000}) {
    ExpectEqualToReference({.n = n, .k = [](int) { return 100; }, .gradient = subnormal});
  }
}

TEST_P(DgcStepTest, ValuesOneBitApart) {
  using BitsAboveOne = std::function<std::size_t(std::size_t i)>;
  const std::size_t n = 300000;
  const BitsAboveOne ascending = [](std::size_t i) { return i; };
  const BitsAboveOne descending = [](std::size_t i) { return n - i; };
  const BitsAboveOne late = [](std::size_t i) { return i > n / 2 && i % 1000 == 0 ? 1 : 0; };
  for (const BitsAboveOne& bits : {ascending, descending, late}) {
    const auto gradient = [&](int, Random&, std::vector<float>& g) {
      for (std::size_t i = 0; i < n; ++i) {
        g[i] = MagnitudeOfKey(MagnitudeKey(1.0f) + static_cast<std::uint32_t>(bits(i)));
      }
    };
    ExpectEqualToReference({.n = n,
                            .k = [](int) { return 300; },
                            .gradient = gradient,
                            .momentum = Momentum::kNone,
                            .steps = 4,
                            .threads = 4});
  }
}

TEST_P(DgcStepTest, AMisledSampleCostsTimeOnly) {
  const std::size_t n = 300000;
  const SamplePlan plan(n);
  const auto only_where_it_looks = [&](int, Random& random, std::vector<float>& g) {
    Normal(300, random, g);
    for (std::size_t j = 0; j < 64; ++j) g[plan.Index(j)] = 1.0f;
  };
  for (const bool cold : {false, true}) {
    ExpectEqualToReference({.n = n,
                            .k = [](int) { return 300; },
                            .gradient = only_where_it_looks,
                            .steps = 6,
                            .always_cold = cold});
  }
}

TEST_P(DgcStepTest, SpikesAndCollapsesOfTheGradient) {
  const auto spike = [](int t, Random& random, std::vector<float>& g) {
    Normal(0, random, g);
    // A burst in one place, then everywhere, then silence.
    if (t == 6) std::for_each(g.begin(), g.begin() + 30000, [](float& x) { x *= 1e6f; });
    if (t == 12) std::ranges::for_each(g, [](float& x) { x *= 1e12f; });
    if (t >= 14) g.assign(g.size(), 0.0f);
  };
  for (int threads : {1, 4}) {
    ExpectEqualToReference({.n = 400000,
                            .k = [](int) { return 400; },
                            .gradient = spike,
                            .steps = 25,
                            .threads = threads});
  }
}

TEST_P(DgcStepTest, NonFiniteGradientsCountAsZero) {
  const auto broken = [](int t, Random& random, std::vector<float>& g) {
    Normal(0, random, g);
    if (t % 2 == 1) return;
    const float values[] = {kInfinity, -kInfinity, kNan, -kNan};
    for (int i = 0; i < 40; ++i) g[random() % g.size()] = values[i % 4];
  };
  ExpectEqualToReference({.n = 3001, .gradient = broken});
  ExpectEqualToReference({.n = 300001, .gradient = broken, .threads = 4});

  std::vector<float> u(200001), v(200001), g(200001, 1.0f);
  g[0] = g[77] = kNan;
  g[100000] = kInfinity;
  g[200000] = -kInfinity;
  DgcStep step({}, u, v);
  step.Select(g, 1.0f, 10);
  EXPECT_EQ(step.non_finite_entries(), 4u);
  EXPECT_EQ(v[77], 0.0f);
  g.assign(g.size(), 1e30f);
  step.Select(g, 1e30f, 10);  // Finite before the scale only.
  EXPECT_EQ(step.non_finite_entries(), 4u + 200001u);
}

TEST_P(DgcStepTest, OverflowIsSentAsZeroAndCleared) {
  const auto huge = [](int t, Random& random, std::vector<float>& g) {
    Normal(0, random, g);
    if (t > 8) return;
    for (std::size_t i = 0; i < 20; ++i) g[i * 37] = (i % 2 == 0 ? 3e38f : -3e38f);
  };
  for (Momentum momentum : {Momentum::kNone, Momentum::kVanilla, Momentum::kNesterov}) {
    ExpectEqualToReference({.n = 2000, .gradient = huge, .momentum = momentum});
    ExpectEqualToReference({.n = 100000, .gradient = huge, .momentum = momentum});
  }
}

TEST_P(DgcStepTest, ADamagedStateHealsByBeingSent) {
  for (std::size_t n : {1000, 100000}) {
    std::vector<float> u(n, 0.5f), v(n, kNan), g(n, 1.0f);
    DgcStep step({}, u, v);
    const std::size_t k = n / 50;
    for (int t = 0; t < 50; ++t) {
      step.Select(g, 1.0f, k);
      for (float value : step.values()) EXPECT_EQ(value, 0.0f);
      step.Settle();
    }
    for (float x : v) ASSERT_TRUE(std::isfinite(x));
    EXPECT_EQ(step.non_finite_entries(), n);
  }
}

TEST_P(DgcStepTest, UndoPutsEverySentEntryBack) {
  for (Momentum momentum : {Momentum::kNone, Momentum::kVanilla, Momentum::kNesterov}) {
    const std::size_t n = 50000;
    Random random(7);
    std::vector<float> u(momentum == Momentum::kNone ? 0 : n), v(n), g(n);
    DgcStep step({.momentum = momentum}, u, v);
    for (int t = 0; t < 5; ++t) {
      Normal(0, random, g);
      step.Select(g, 1.0f, 500);
      const auto u_before = Bits(u);
      const auto v_before = Bits(v);
      for (float& value : step.values()) value *= 0.999f;  // As if rounded by the wire.
      step.Settle();
      EXPECT_NE(Bits(v), v_before);
      if (t % 2 == 0) continue;
      step.Undo();
      EXPECT_EQ(Bits(u), u_before);
      EXPECT_EQ(Bits(v), v_before);
      step.Undo();
      EXPECT_EQ(Bits(v), v_before);
    }
  }
}

TEST_P(DgcStepTest, WhatTheWireLosesStaysInV) {
  std::vector<float> u(5000), v(5000), g(5000, 0.25f);
  g[4321] = 3.0f;
  DgcStep step({}, u, v);
  step.Select(g, 1.0f, 1);
  ASSERT_EQ(step.indices()[0], 4321u);
  step.values()[0] = 2.75f;
  step.Settle();
  EXPECT_EQ(v[4321], 0.25f);
  EXPECT_EQ(u[4321], 0.0f);
}

TEST(DgcStepThreshold, SettlesNearTwiceKWithoutRereads) {
  const std::size_t n = 1 << 20;
  const std::size_t k = EntriesToSend(n, 0.001);
  Random random(42);
  std::vector<float> u(n), v(n), g(n);
  Normal(0, random, g);
  DgcStep step({}, u, v);
  std::uniform_int_distribution<std::size_t> offset(0, n - 1);
  std::uint64_t rereads_before = 0;
  for (int t = 0; t < 300; ++t) {
    std::rotate(g.begin(), g.begin() + static_cast<std::ptrdiff_t>(offset(random)), g.end());
    step.Select(g, 1.0f, k);
    step.Settle();
    if (t == 200) rereads_before = step.rereads();
    if (t > 200) {
      EXPECT_GE(step.candidates(), k);
      EXPECT_LT(step.candidates(), 5 * k);
    }
  }
  EXPECT_LE(step.rereads() - rereads_before, 1u);
}

}  // namespace
}  // namespace weir::cpu
