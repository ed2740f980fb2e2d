#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "compression/make_compressor.h"
#include "compression/options/registry.h"
#include "tests/compression/test_compressor.h"

namespace weir {
namespace {

using Floats = std::vector<float>;

std::unique_ptr<Compressor> Make(CompressionOptions options, std::int64_t n) {
  if (options.at("compressor") == "topk") options["min_elements"] = "0";
  return MakeCompressor(options, TensorSpec{"w", Shape{n}});
}

Floats Normal(std::size_t n, std::mt19937& random) {
  std::normal_distribution<float> normal;
  Floats values(n);
  for (float& value : values) value = normal(random);
  return values;
}

Floats StateOf(Compressor& compressor, const std::string& name) {
  for (const auto& array : compressor.State()) {
    if (array.name == name) return {array.values.begin(), array.values.end()};
  }
  ADD_FAILURE() << "no state " << name;
  return {};
}

/// mu 0.9, constant g = [1, -2]: BytePS's own example.
TEST(NesterovMomentum, FollowsTheKnownSequence) {
  const auto compressor =
      Make({{"compressor", "dense"}, {"momentum", "nesterov"}, {"momentum_mu", "0.9"}}, 2);
  for (const float expected : {1.9f, 2.71f, 3.439f}) {
    const Floats out = test::SendAndReceive(*compressor, {}, {1.0f, -2.0f});
    EXPECT_FLOAT_EQ(out[0], expected);
    EXPECT_FLOAT_EQ(out[1], -2.0f * expected);
  }
}

/// Two elements are below any min_compress_bytes but 0: they travel dense, and decorated.
TEST(NesterovMomentum, IsThatOfSmallTensorsToo) {
  for (const char* name : {"onebit", "dithering", "topk", "randomk"}) {
    SCOPED_TRACE(name);
    const auto compressor = MakeCompressor(
        {{"compressor", name}, {"ef", "vanilla"}, {"momentum", "nesterov"}, {"momentum_mu", "0.9"}},
        TensorSpec{"w", Shape{2}});
    EXPECT_EQ(compressor->summable(), DType::kFloat32);
    for (const float expected : {1.9f, 2.71f, 3.439f}) {
      const Floats out = test::SendAndReceive(*compressor, {}, {1.0f, -2.0f});
      EXPECT_FLOAT_EQ(out[0], expected);
      EXPECT_FLOAT_EQ(out[1], -2.0f * expected);
    }
  }
}

TEST(NesterovMomentum, TheDensePhaseAndTheHandOffContinueOneRecursion) {
  const CompressionOptions options = {
      {"compressor", "dense"}, {"momentum", "nesterov"}, {"momentum_mu", "0.9"}};
  const auto plain = Make(options, 2);
  const auto handed_off = Make(options, 2);
  for (int step = 0; step < 6; ++step) {
    Floats out = {1.0f + static_cast<float>(step), -2.0f};
    const Floats expected = test::SendAndReceive(*plain, {}, out);
    StepContext context;
    context.dense_phase = step < 3;
    if (!context.dense_phase) out = test::SendAndReceive(*handed_off, context, out);
    handed_off->Finish(context, out);
    EXPECT_EQ(out, expected) << step;
  }
}

class ErrorFeedbackOf : public testing::TestWithParam<CompressionOptions> {};

/// sum of D(C(p)) + e == sum of g at a constant learning rate, within rounding of the sums.
TEST_P(ErrorFeedbackOf, LosesNothing) {
  const unsigned seed = 41;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::size_t n = 1000;
  const auto compressor = Make(GetParam(), n);
  std::vector<double> sent(n);
  std::vector<double> added(n);
  for (int step = 0; step < 50; ++step) {
    const Floats gradient = Normal(n, random);
    const Floats received = test::SendAndReceive(*compressor, {.density = 0.01}, gradient);
    for (std::size_t i = 0; i < n; ++i) {
      sent[i] += received[i];
      added[i] += gradient[i];
    }
    const Floats error = StateOf(*compressor, "error");
    for (std::size_t i = 0; i < n; ++i) ASSERT_NEAR(sent[i] + error[i], added[i], 1e-4);
  }
}

TEST_P(ErrorFeedbackOf, RevertKeepsTheGradientAsIfNothingWasSent) {
  std::mt19937 random(42);
  const std::size_t n = 1000;
  const auto compressor = Make(GetParam(), n);
  test::Send(*compressor, {.density = 0.01}, Normal(n, random));
  const Floats before = StateOf(*compressor, "error");
  const Floats gradient = Normal(n, random);
  test::Send(*compressor, {.density = 0.01}, gradient);
  compressor->Revert();
  compressor->Revert();  // A second one finds nothing to take back.
  Floats expected(n);
  for (std::size_t i = 0; i < n; ++i) expected[i] = gradient[i] + before[i];
  EXPECT_EQ(StateOf(*compressor, "error"), expected);
}

INSTANTIATE_TEST_SUITE_P(
    Codecs, ErrorFeedbackOf,
    testing::Values(CompressionOptions{{"compressor", "topk"}, {"ef", "vanilla"}},
                    CompressionOptions{
                        {"compressor", "topk"}, {"ef", "vanilla"}, {"values", "fp32"}},
                    CompressionOptions{{"compressor", "fp16"}, {"ef", "vanilla"}},
                    CompressionOptions{{"compressor", "bf16"}, {"ef", "vanilla"}}));

TEST(ErrorFeedback, TheErrorIsRescaledByTheLearningRates) {
  const auto compressor =
      Make({{"compressor", "topk"}, {"k", "1"}, {"values", "fp32"}, {"ef", "vanilla"}}, 2);
  test::Send(*compressor, {.learning_rate = 0.4f, .previous_learning_rate = 0.4f}, {8, 4});
  EXPECT_EQ(StateOf(*compressor, "error"), (Floats{0, 4}));
  // The rate was halved: an entry held back at the old rate is worth twice as much now.
  const StepContext halved{.learning_rate = 0.2f, .previous_learning_rate = 0.4f};
  EXPECT_EQ(test::SendAndReceive(*compressor, halved, {1, 0}), (Floats{0, 8}));
}

TEST(ErrorFeedback, ALearningRateOfZeroMeansRatioOne) {
  for (const StepContext& context :
       {StepContext{.learning_rate = 0.0f, .previous_learning_rate = 0.4f},
        StepContext{.learning_rate = 0.4f, .previous_learning_rate = 0.0f}}) {
    const auto compressor =
        Make({{"compressor", "topk"}, {"k", "1"}, {"values", "fp32"}, {"ef", "vanilla"}}, 2);
    test::Send(*compressor, {}, {8, 4});
    EXPECT_EQ(test::SendAndReceive(*compressor, context, {0, 0}), (Floats{0, 4}));
  }
}

TEST(ErrorFeedback, IsNeverPoisoned) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float largest = std::numeric_limits<float>::max();
  const auto compressor =
      Make({{"compressor", "topk"}, {"k", "1"}, {"values", "fp32"}, {"ef", "vanilla"}}, 3);
  test::Send(*compressor, {}, {infinity, std::nanf(""), 1.0f});
  EXPECT_EQ(compressor->non_finite_entries(), 2u);
  test::Send(*compressor, {}, {largest, -largest, 0.5f});
  test::Send(*compressor, {}, {largest, -largest, 0.5f});
  for (float error : StateOf(*compressor, "error")) EXPECT_TRUE(std::isfinite(error));
}

TEST(Memory, MomentumStandsBeforeErrorFeedback) {
  const auto compressor = Make({{"compressor", "topk"},
                                {"k", "1"},
                                {"values", "fp32"},
                                {"ef", "vanilla"},
                                {"momentum", "nesterov"},
                                {"momentum_mu", "0.5"}},
                               2);
  EXPECT_EQ(test::SendAndReceive(*compressor, {}, {4, 2}), (Floats{6, 0}));
  EXPECT_EQ(StateOf(*compressor, "momentum"), (Floats{4, 2}));
  EXPECT_EQ(StateOf(*compressor, "error"), (Floats{0, 3}));
}

}  // namespace
}  // namespace weir
