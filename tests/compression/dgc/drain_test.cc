// Steps in which compressors send all that they have, between steps in which they compress.
#include "compression/dgc/drain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "common/half_array.h"
#include "compression/codecs/int8.h"
#include "compression/dgc/dense_momentum.h"
#include "compression/dgc/dgc.h"
#include "tests/compression/dgc/simulated_ranks.h"
#include "tests/compression/test_compressor.h"

namespace weir::drain_test {
namespace {

constexpr std::size_t kN = 1500;
using Floats = std::vector<float>;

std::unique_ptr<Dgc> MakeDgc(Momentum momentum, Masking masking = Masking::kNone) {
  return std::make_unique<Dgc>(
      DgcSettings{.rule = {.momentum = momentum, .m = 0.9f, .masking = masking}}, kN);
}

Floats Normal(std::mt19937& random) {
  std::normal_distribution<float> normal;
  Floats values(kN);
  std::ranges::generate(values, [&] { return normal(random); });
  return values;
}

Floats VelocityOf(Compressor& compressor) {
  for (const auto& array : compressor.State()) {
    if (array.name == "velocity" || array.name == "error") {
      return {array.values.begin(), array.values.end()};
    }
  }
  return {};
}

/// What receivers get of a drained step.
Floats Drained(Compressor& compressor, const StepContext& context, const Floats& gradient,
               DType type) {
  const auto all = compressor.Drain(context, gradient, type);
  Floats received(all.begin(), all.end());
  if (type == DType::kFloat16) {
    std::vector<std::uint16_t> halves(kN);
    FloatsToHalves(all, halves);
    HalvesToFloats(halves, received);
  } else if (type == DType::kInt8) {
    const Int8Codec codec;
    std::vector<std::byte> payload(codec.MaxEncodedBytes(kN, 1.0));
    codec.Encode({}, all, payload);
    std::ranges::fill(received, 0.0f);
    codec.Merge(payload, received);
  }
  return received;
}

TEST(Drain, OfEveryStepIsMomentumSgdExactly) {
  for (const Momentum momentum : {Momentum::kNone, Momentum::kVanilla, Momentum::kNesterov}) {
    std::mt19937 random(1);
    const auto dgc = MakeDgc(momentum, Masking::kAll);
    Floats u(kN);
    for (int t = 0; t < 20; ++t) {
      const Floats gradient = Normal(random);
      Floats wanted(kN);
      for (std::size_t i = 0; i < kN; ++i) {
        wanted[i] = AdvanceMomentum(momentum, 0.9f, gradient[i] * 0.5f, u[i]);
      }
      const StepContext context{.step = t, .gradient_scale = 0.5f};
      ASSERT_EQ(BitsOf(Drained(*dgc, context, gradient, DType::kFloat32)), BitsOf(wanted))
          << "step " << t;
    }
  }
}

/// What is sent, and what is still there, add up to all directions of momentum SGD, whatever the
/// forms of the steps.
TEST(Drain, LosesNothingBetweenSparseSteps) {
  for (const Momentum momentum : {Momentum::kNone, Momentum::kVanilla, Momentum::kNesterov}) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE("momentum " + std::to_string(static_cast<int>(momentum)) + ", seed " +
                   std::to_string(seed));
      std::mt19937 random(seed);
      const auto dgc = MakeDgc(momentum);
      Floats u(kN);
      std::vector<double> given(kN), sent(kN);
      for (int t = 0; t < 40; ++t) {
        const Floats gradient = Normal(random);
        for (std::size_t i = 0; i < kN; ++i) {
          given[i] += AdvanceMomentum(momentum, 0.9f, gradient[i], u[i]);
        }
        const StepContext context{.step = t, .density = 0.01};
        constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat16, DType::kInt8};
        const unsigned form = random() % 4;
        const Floats received = form == 0 ? test::SendAndReceive(*dgc, context, gradient)
                                          : Drained(*dgc, context, gradient, kTypes[form - 1]);
        const bool fails = random() % 4 == 0;
        if (fails) dgc->Revert();
        for (std::size_t i = 0; i < kN && !fails; ++i) sent[i] += received[i];
        // Reading the state settles what is pending, which must not matter.
        if (random() % 2 == 0) continue;
        const Floats kept = VelocityOf(*dgc);
        for (std::size_t i = 0; i < kN; ++i) {
          ASSERT_NEAR(sent[i] + kept[i], given[i], 2e-4) << "entry " << i << ", step " << t;
          const bool empty = form == 1 && !fails;
          ASSERT_TRUE(!empty || kept[i] == 0.0f) << "entry " << i << ", step " << t;
        }
      }
    }
  }
}

TEST(Drain, AsInt8KeepsWhatRoundingLoses) {
  std::mt19937 random(7);
  DenseMomentum small(Momentum::kVanilla, 0.9f, ValueType::kFloat16, kN);
  const auto dgc = MakeDgc(Momentum::kNone);
  for (Compressor* compressor :
       {static_cast<Compressor*>(&small), static_cast<Compressor*>(dgc.get())}) {
    const Floats gradient = Normal(random);
    const Floats received = Drained(*compressor, {}, gradient, DType::kInt8);
    const Floats kept = VelocityOf(*compressor);
    double most = 0.0;
    for (std::size_t i = 0; i < kN; ++i) {
      ASSERT_NEAR(received[i] + kept[i], gradient[i], 1e-6) << i;
      most = std::max<double>(most, std::abs(kept[i]));
    }
    EXPECT_GT(most, 1e-3);
    EXPECT_LT(most, 6.0 / 127 / 2);  // Half a level.
  }
}

TEST(Drain, AsFp16KeepsWhatRoundingLoses) {
  std::mt19937 random(3);
  DenseMomentum small(Momentum::kVanilla, 0.9f, ValueType::kFloat16, kN);
  const auto dgc = MakeDgc(Momentum::kNone);
  for (Compressor* compressor :
       {static_cast<Compressor*>(&small), static_cast<Compressor*>(dgc.get())}) {
    ASSERT_TRUE(compressor->drains());
    Floats gradient = Normal(random);
    gradient[5] = 1e-9f;  // Below the smallest half.
    const Floats received = Drained(*compressor, {}, gradient, DType::kFloat16);
    const Floats kept = VelocityOf(*compressor);
    for (std::size_t i = 0; i < kN; ++i) ASSERT_EQ(received[i] + kept[i], gradient[i]) << i;
    EXPECT_EQ(kept[5], 1e-9f);
    EXPECT_NE(kept[6], 0.0f);
  }
}

TEST(Drain, ThatFailsIsSentByTheNext) {
  for (const DType type : {DType::kFloat32, DType::kFloat16, DType::kInt8}) {
    for (const bool empty : {false, true}) {
      std::mt19937 random(4);
      const auto dgc = MakeDgc(Momentum::kVanilla);
      const Floats first = Normal(random), second = Normal(random), third = Normal(random);
      if (empty) {
        Drained(*dgc, {}, first, DType::kFloat32);
      } else {
        test::Send(*dgc, {.density = 0.01}, first);
      }
      Drained(*dgc, {.step = 1}, second, type);
      dgc->Revert();
      const Floats kept = VelocityOf(*dgc);
      const Floats momentum(dgc->State().front().values.begin(), dgc->State().front().values.end());
      const Floats received = Drained(*dgc, {.step = 2}, third, DType::kFloat32);
      for (std::size_t i = 0; i < kN; ++i) {
        const float u = 0.9f * momentum[i] + third[i];
        ASSERT_EQ(received[i], u + kept[i]) << i;
        ASSERT_TRUE(!empty || kept[i] == momentum[i]) << i;
      }
    }
  }
}

TEST(Drain, IsUndoneByGoBack) {
  for (const DType type : {DType::kFloat32, DType::kFloat16, DType::kInt8}) {
    for (const bool empty : {false, true}) {
      std::mt19937 random(5);
      const auto dgc = MakeDgc(Momentum::kNesterov);
      const Floats first = Normal(random), second = Normal(random);
      empty ? void(Drained(*dgc, {}, first, DType::kFloat32))
            : void(test::Send(*dgc, {.density = 0.01}, first));
      dgc->Mark();
      const Floats once = Drained(*dgc, {.step = 1}, second, type);
      dgc->GoBack();
      EXPECT_EQ(Drained(*dgc, {.step = 1}, second, type), once);
      dgc->GoBack();
      const auto sparse = test::SendAndReceive(*dgc, {.step = 1, .density = 0.01}, second);
      EXPECT_EQ(std::ranges::count_if(sparse, [](float x) { return x != 0.0f; }), 15);
    }
  }
}

TEST(Drain, CountsWhatIsNotFiniteAsZero) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto dgc = MakeDgc(Momentum::kVanilla);
  Floats gradient(kN, 1.0f);
  gradient[3] = inf;
  gradient[4] = std::nanf("");
  const Floats received = Drained(*dgc, {}, gradient, DType::kFloat32);
  EXPECT_EQ(received[3], 0.0f);
  EXPECT_EQ(received[4], 0.0f);
  EXPECT_EQ(received[5], 1.0f);
  EXPECT_EQ(dgc->non_finite_entries(), 2u);
  // An overflow of u, too.
  std::ranges::fill(gradient, 3e38f);
  Drained(*dgc, {.step = 1}, gradient, DType::kFloat32);
  for (const float x : Drained(*dgc, {.step = 2}, gradient, DType::kFloat32)) ASSERT_EQ(x, 0.0f);
}

TEST(Drain, IsTheSameWithThreads) {
  constexpr std::size_t kMany = 300000;
  std::mt19937 random(6);
  std::normal_distribution<float> normal;
  Floats gradient(kMany), u(kMany), v(kMany);
  for (Floats* values : {&gradient, &u, &v}) {
    std::ranges::generate(*values, [&] { return normal(random); });
  }
  Floats other_u = u, other_v = v;
  ThreadPool pool(3);
  AdvanceAll({.momentum = Momentum::kNesterov}, gradient, u, v, nullptr);
  AdvanceAll({.momentum = Momentum::kNesterov}, gradient, other_u, other_v, &pool);
  EXPECT_EQ(BitsOf(u), BitsOf(other_u));
  EXPECT_EQ(BitsOf(v), BitsOf(other_v));
}

}  // namespace
}  // namespace weir::drain_test
