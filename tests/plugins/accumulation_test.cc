#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/plugins/model.h"
#include "tests/plugins/reference_sgd.h"
#include "weir/engine.h"
#include "weir/optimizer.h"

namespace weir::accumulation_test {
namespace {

using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;
using testing::ThrowsMessage;

constexpr int kPasses = 3;

OptimizerOptions Options() {
  OptimizerOptions options;
  options.momentum = 0.9f;
  options.backward_passes_per_step = kPasses;
  return options;
}

class Accumulation : public testing::TestWithParam<int> {};

/// The mean of all passes of all ranks takes one step: had anything run after an earlier pass, the
/// momentum would have advanced more than once.
TEST_P(Accumulation, AStepAppliesTheMeanOfItsPassesOnce) {
  RunLocal(GetParam(), [](Engine& engine) {
    Model model;
    ReferenceSgd reference(Momentum::kVanilla, 0.9, 0.0, model.Values());
    OptimizerOptions options = Options();
    options.compression = {{"compressor", "dgc"},
                           {"density", "1"},
                           {"values", "fp32"},
                           {"momentum_masking", "false"},
                           {"min_elements", "0"}};
    DistributedOptimizer optimizer(engine, model.Parameters(), std::move(options));
    Model drawn;
    for (int step = 0; step < 6; ++step) {
      const std::vector<float> before = model.Values();
      optimizer.BeginStep(RateAt(step));
      for (int pass = 0; pass < kPasses; ++pass) {
        model.DrawGradients(kPasses * step + pass, engine.rank());
        for (std::size_t i = 0; i < model.tensors(); ++i) optimizer.GradientReady(i);
      }
      EXPECT_EQ(model.Values(), before) << "only Step may update";
      optimizer.Step();
      std::vector<double> mean(model.size());
      for (int pass = 0; pass < kPasses; ++pass) {
        for (int rank = 0; rank < engine.size(); ++rank) {
          drawn.DrawGradients(kPasses * step + pass, rank);
          const std::vector<float> gradients = drawn.Gradients();
          for (std::size_t i = 0; i < mean.size(); ++i) {
            mean[i] += gradients[i] / (kPasses * engine.size());
          }
        }
      }
      reference.Step(mean, RateAt(step));
      ASSERT_THAT(model.Values(), Pointwise(FloatNear(2e-5f), reference.values()));
    }
  });
}

TEST_P(Accumulation, OneExchangeCarriesAllPasses) {
  RunLocal(GetParam(), [](Engine& engine) {
    Model model;
    DistributedOptimizer optimizer(engine, model.Parameters(), Options());
    optimizer.BeginStep(0.1f);
    for (int pass = 0; pass < kPasses; ++pass) {
      for (std::size_t i = 0; i < model.tensors(); ++i) optimizer.GradientReady(i);
    }
    EXPECT_EQ(optimizer.Step().wire_bytes, model.size() * sizeof(float));
  });
}

TEST_P(Accumulation, APassThatDoesNotUseAParameterCountsAsZero) {
  RunLocal(GetParam(), [](Engine& engine) {
    Model model;
    const std::vector<float> before = model.Values();
    DistributedOptimizer optimizer(engine, model.Parameters(), Options());
    optimizer.BeginStep(1.0f);
    for (int pass = 0; pass < kPasses; ++pass) {
      model.FillGradients(3.0f);
      // The first tensor in the first pass, the second in the first two, the third in all.
      for (std::size_t i = static_cast<std::size_t>(pass); i < model.tensors(); ++i) {
        optimizer.GradientReady(i);
      }
    }
    optimizer.Step();
    const std::vector<float> after = model.Values();
    std::size_t at = 0;
    for (std::size_t i = 0; i < model.tensors(); ++i) {
      for (std::size_t n = model.gradient(i).size(); n-- > 0; ++at) {
        ASSERT_EQ(after[at], before[at] - static_cast<float>(i + 1)) << "tensor " << i;
      }
    }
  });
}

TEST_P(Accumulation, APassTooManyIsRefusedAndTheStepGoesOn) {
  RunLocal(GetParam(), [](Engine& engine) {
    Model model;
    const std::vector<float> before = model.Values();
    DistributedOptimizer optimizer(engine, model.Parameters(), Options());
    optimizer.BeginStep(1.0f);
    for (int pass = 0; pass < kPasses; ++pass) {
      model.FillGradients(1.0f);
      for (std::size_t i = 0; i < model.tensors(); ++i) optimizer.GradientReady(i);
    }
    EXPECT_THAT([&] { optimizer.GradientReady(1); },
                ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("'bias' more than 3 times"),
                                                     HasSubstr("backward_passes_per_step"))));
    optimizer.Step();
    EXPECT_EQ(model.Values().front(), before.front() - 1.0f);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Accumulation, testing::Values(1, 2, 4),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir::accumulation_test
