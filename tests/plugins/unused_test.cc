#include <gtest/gtest.h>

#include <vector>

#include "tests/plugins/model.h"
#include "tests/plugins/reference_sgd.h"
#include "weir/engine.h"
#include "weir/optimizer.h"

namespace weir::unused_test {
namespace {

// The tensor "out" comes last in Model::Values.
std::size_t OutBegin(Model& model) { return model.gradient(0).size() + model.gradient(1).size(); }

class Unused : public testing::TestWithParam<std::tuple<bool, int>> {
 protected:
  static OptimizerOptions Options() {
    OptimizerOptions options;
    options.momentum = 0.5f;
    if (std::get<0>(GetParam())) {
      options.compression = {{"compressor", "dgc"},
                             {"density", "1"},
                             {"values", "fp32"},
                             {"momentum_masking", "false"},
                             {"min_elements", "0"}};
    }
    return options;
  }
};

/// A parameter that one rank did not use counts as zero there, and what lay in its gradient's
/// memory from the step before does not matter.
TEST_P(Unused, OnOneRankCountsAsZeroThere) {
  RunLocal(std::get<1>(GetParam()), [](Engine& engine) {
    Model model;
    ReferenceSgd reference(Momentum::kVanilla, 0.5, 0.0, model.Values());
    DistributedOptimizer optimizer(engine, model.Parameters(), Options());
    for (int step = 0; step < 4; ++step) {
      optimizer.BeginStep(0.125f);
      model.FillGradients(1.0f);
      optimizer.GradientReady(0);
      optimizer.GradientReady(1);
      if (engine.rank() == 0) optimizer.GradientReady(2);
      optimizer.Step();
      std::vector<double> mean(model.size(), 1.0);
      for (std::size_t i = OutBegin(model); i < mean.size(); ++i) mean[i] /= engine.size();
      reference.Step(mean, 0.125);
      const std::vector<float> values = model.Values();
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_NEAR(values[i], reference.values()[i], 1e-5) << "entry " << i << " step " << step;
      }
    }
  });
}

/// Momentum goes on when nobody used the parameter in a step.
TEST_P(Unused, OnAllRanksIsCarriedByItsMomentum) {
  RunLocal(std::get<1>(GetParam()), [](Engine& engine) {
    Model model;
    ReferenceSgd reference(Momentum::kVanilla, 0.5, 0.0, model.Values());
    DistributedOptimizer optimizer(engine, model.Parameters(), Options());
    for (int step = 0; step < 4; ++step) {
      const bool used = step % 2 == 0;
      optimizer.BeginStep(0.125f);
      model.FillGradients(1.0f);
      for (std::size_t i = 0; used && i < model.tensors(); ++i) optimizer.GradientReady(i);
      optimizer.Step();
      reference.Step(std::vector<double>(model.size(), used ? 1.0 : 0.0), 0.125);
      const std::vector<float> values = model.Values();
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_NEAR(values[i], reference.values()[i], 1e-5) << "entry " << i << " step " << step;
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(DgcAndRanks, Unused,
                         testing::Combine(testing::Bool(), testing::Values(1, 2, 4)));

}  // namespace
}  // namespace weir::unused_test
