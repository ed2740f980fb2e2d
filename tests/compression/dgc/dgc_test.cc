#include "compression/dgc/dgc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "common/threads/thread_pool.h"
#include "compression/dgc/dense_momentum.h"
#include "compression/make_compressor.h"
#include "compression/options/registry.h"
#include "tests/compression/dgc/simulated_ranks.h"
#include "tests/compression/wire/sparse_sample.h"
#include "weir/error.h"

namespace weir {
namespace {

DgcSettings Settings(ValueType values) {
  return {{Momentum::kVanilla, 0.9f, Masking::kAll}, values};
}

std::vector<std::byte> Encoded(Compressor& dgc, const StepContext& context,
                               const std::vector<float>& gradient) {
  std::vector<std::byte> payload(dgc.MaxEncodedBytes(context.density));
  payload.resize(dgc.Encode(context, gradient, payload));
  return payload;
}

TEST(Dgc, WritesAsManyBytesAsItSaidBefore) {
  std::mt19937 random(1);
  for (std::size_t n : {1, 10, 5000}) {
    Dgc dgc(Settings(ValueType::kFloat16), n);
    const auto gradient = NormalGradients(1, n, random)[0];
    for (double density : {1.0, 0.1, 0.001}) {
      std::vector<std::byte> payload(dgc.MaxEncodedBytes(density));
      EXPECT_EQ(dgc.Encode({.density = density}, gradient, payload), payload.size());
    }
  }
}

TEST(Dgc, SendsTheLargestAndKeepsTheRest) {
  Dgc dgc(Settings(ValueType::kFloat32), 5);
  const auto payload = Encoded(dgc, {.density = 0.4}, {1, -4, 2, 3, -1});
  std::vector<float> sum(5);
  dgc.Merge(payload, sum);
  EXPECT_THAT(sum, testing::ElementsAre(0, -4, 0, 3, 0));
  EXPECT_THAT(StateOf(dgc, "velocity"), testing::ElementsAre(1, 0, 2, 0, -1));
  EXPECT_THAT(StateOf(dgc, "momentum"), testing::ElementsAre(1, 0, 2, 0, -1));
  EXPECT_EQ(dgc.threshold(), 3.0f);
}

TEST(Dgc, KeepsWhatHalfPrecisionLoses) {
  Dgc dgc(Settings(ValueType::kFloat16), 2);
  const float fine = 1.0f + 1.0f / 4096;  // Rounds to 1 in fp16.
  const auto payload = Encoded(dgc, {.density = 0.5}, {fine, 0.0f});
  std::vector<float> sum(2);
  dgc.Merge(payload, sum);
  EXPECT_EQ(sum[0], 1.0f);
  EXPECT_EQ(StateOf(dgc, "velocity")[0], 1.0f / 4096);
}

TEST(Dgc, KeepsWhatFewBitsLose) {
  const std::vector<float> gradient = {7, -2, 1, 0.25f, 0};
  const auto rest_after = [&](ValueType type) {
    Dgc dgc(Settings(type), gradient.size());
    std::vector<float> sum(gradient.size());
    dgc.Merge(Encoded(dgc, {.density = 0.6}, gradient), sum);
    const auto rest = StateOf(dgc, "velocity");
    for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_EQ(sum[i] + rest[i], gradient[i]);
    EXPECT_EQ(sum[3], 0.0f) << "not among the largest";
    return std::vector<float>(rest.begin(), rest.end());
  };
  EXPECT_THAT(rest_after(ValueType::kInt4), testing::ElementsAre(0, 0, 0, 0.25f, 0));
  // 7 is above the mean, the others are 1.5 on average.
  EXPECT_THAT(rest_after(ValueType::kInt2), testing::ElementsAre(0, -0.5f, -0.5f, 0.25f, 0));
}

// An entry that rounding made 0 was not sent: its momentum goes on.
TEST(Dgc, MasksOnlyWhatReceiversGet) {
  Dgc dgc(Settings(ValueType::kInt4), 3);
  std::vector<float> sum(3);
  dgc.Merge(Encoded(dgc, {.density = 0.6}, {112, 1, 0}), sum);
  EXPECT_THAT(sum, testing::ElementsAre(112, 0, 0));
  EXPECT_THAT(StateOf(dgc, "velocity"), testing::ElementsAre(0, 1, 0));
  EXPECT_THAT(StateOf(dgc, "momentum"), testing::ElementsAre(0, 1, 0));
}

TEST(Dgc, RevertLeavesTheGradientAccumulatedAndNothingSent) {
  const std::size_t n = 3000;
  for (const ValueType type : test::kAllValueTypes) {
    std::mt19937 random(2);
    Dgc reverted(Settings(type), n);
    std::vector<float> u(n), v(n);
    for (int t = 0; t < 10; ++t) {
      const auto gradient = NormalGradients(1, n, random)[0];
      Encoded(reverted, {.step = t, .density = 0.01}, gradient);
      reverted.Revert();
      for (std::size_t i = 0; i < n; ++i)
        v[i] += AdvanceMomentum(Momentum::kVanilla, 0.9f, gradient[i], u[i]);
      ASSERT_EQ(BitsOf(StateOf(reverted, "momentum")), BitsOf(u));
      ASSERT_EQ(BitsOf(StateOf(reverted, "velocity")), BitsOf(v));
    }
  }
}

TEST(Dgc, BitsDoNotDependOnThreads) {
  const std::size_t n = 400000;
  ThreadPool four(4);
  Dgc alone(Settings(ValueType::kFloat16), n);
  Dgc shared(Settings(ValueType::kFloat16), n);
  std::mt19937 random(3);
  for (int t = 0; t < 10; ++t) {
    const auto gradient = NormalGradients(1, n, random)[0];
    const double density = t < 5 ? 0.1 : 0.001;
    // A pool that comes and goes changes nothing either.
    ThreadPool* const pool = t % 3 == 2 ? nullptr : &four;
    ASSERT_EQ(Encoded(alone, {.step = t, .density = density}, gradient),
              Encoded(shared, {.step = t, .density = density, .pool = pool}, gradient));
    ASSERT_EQ(alone.threshold(), shared.threshold());
  }
  EXPECT_EQ(CopyState(alone), CopyState(shared));
}

TEST(Dgc, TheGradientScaleIsAppliedFirst) {
  Dgc plain(Settings(ValueType::kFloat32), 100);
  Dgc scaled(Settings(ValueType::kFloat32), 100);
  std::mt19937 random(4);
  auto gradient = NormalGradients(1, 100, random)[0];
  const auto wanted = Encoded(plain, {.density = 0.1}, gradient);
  for (float& x : gradient) x *= 1024;
  EXPECT_EQ(Encoded(scaled, {.density = 0.1, .gradient_scale = 1.0f / 1024}, gradient), wanted);
}

TEST(Dgc, AnEmptyPayloadAddsNothingAndABrokenOneThrows) {
  Dgc dgc(Settings(ValueType::kFloat16), 100);
  std::vector<float> sum(100, 1.0f);
  dgc.Merge({}, sum);
  EXPECT_THAT(sum, testing::Each(1.0f));
  auto payload = Encoded(dgc, {.density = 0.1}, std::vector<float>(100, 2.0f));
  payload.pop_back();
  EXPECT_THROW(dgc.Merge(payload, sum), Corrupt);
  EXPECT_THAT(sum, testing::Each(1.0f));
}

TEST(Dgc, NonFiniteMeansOfTheDensePhaseDoNotPoisonU) {
  Dgc dgc(Settings(ValueType::kFloat16), 2);
  std::vector<float> mean = {std::numeric_limits<float>::infinity(), 1.0f};
  dgc.Finish({.dense_phase = true}, mean);
  EXPECT_THAT(mean, testing::ElementsAre(0.0f, 1.0f));
  EXPECT_EQ(dgc.non_finite_entries(), 1u);
}

TEST(DgcOptions, SmallAndOneDimensionalTensorsStayDense) {
  const CompressionOptions options = {{"compressor", "dgc"}};
  const auto is_dense = [&](const Shape& shape) {
    const auto compressor = MakeCompressor(options, {"layer.weight", shape});
    return dynamic_cast<DenseMomentum*>(compressor.get()) != nullptr;
  };
  EXPECT_TRUE(is_dense(Shape{100000}));
  EXPECT_TRUE(is_dense(Shape{31, 33}));
  EXPECT_TRUE(is_dense(Shape{0, 5}));
  EXPECT_FALSE(is_dense(Shape{32, 32}));
}

TEST(DgcOptions, ReachTheCompressor) {
  const auto compressor = MakeCompressor({{"compressor", "dgc"},
                                          {"momentum", "nesterov"},
                                          {"momentum_mu", "0.5"},
                                          {"momentum_masking", "false"},
                                          {"values", "fp32"},
                                          {"min_elements", "4"}},
                                         {"w", Shape{2, 2}});
  std::vector<float> sum(4);
  compressor->Merge(Encoded(*compressor, {.density = 0.25}, {4, 0, 1, 0}), sum);
  EXPECT_EQ(sum[0], 6.0f);  // m (0 + g) + g.
  EXPECT_THAT(StateOf(*compressor, "momentum"), testing::ElementsAre(2, 0, 0.5f, 0));
}

TEST(DgcOptions, SayHowManyBitsAValueTakes) {
  std::mt19937 random(5);
  const auto gradient = NormalGradients(1, 128 * 128, random)[0];
  for (const Shape& shape : {Shape{128, 128}, Shape{128 * 128}}) {
    std::size_t before = SIZE_MAX;
    for (const char* values : {"fp32", "fp16", "int8", "int4", "int2"}) {
      const auto compressor =
          MakeCompressor({{"compressor", "dgc"}, {"values", values}}, {"w", shape});
      const std::size_t bytes = Encoded(*compressor, {.density = 0.1}, gradient).size();
      EXPECT_LT(bytes, before) << values;
      before = bytes;
    }
  }
}

TEST(DgcOptions, NoMomentumMeansNoMomentumState) {
  const auto compressor =
      MakeCompressor({{"compressor", "dgc"}, {"momentum", "none"}}, {"w", Shape{64, 64}});
  const auto state = compressor->State();
  ASSERT_EQ(state.size(), 1u);
  EXPECT_EQ(state[0].name, "velocity");
}

TEST(DgcOptions, RefuseATensorThatIndicesCannotAddress) {
  EXPECT_THROW(MakeCompressor({{"compressor", "dgc"}}, {"huge", Shape{65536, 65536}}),
               InvalidArgument);
}

}  // namespace
}  // namespace weir
