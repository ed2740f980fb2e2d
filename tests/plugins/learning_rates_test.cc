#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/plugins/model.h"
#include "weir/engine.h"
#include "weir/optimizer.h"

namespace weir::learning_rates_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<Parameter> InTwoGroups(Model& model) {
  std::vector<Parameter> parameters = model.Parameters();
  parameters[1].parameter_group = 1;
  return parameters;
}

TEST(LearningRates, EveryParameterFollowsThatOfItsGroup) {
  RunLocal(2, [](Engine& engine) {
    Model model;
    DistributedOptimizer optimizer(engine, InTwoGroups(model), {});
    for (const std::array<float, 2> rates : {std::array{0.5f, 0.25f}, std::array{0.125f, 2.0f}}) {
      const std::vector<float> before = model.Values();
      optimizer.BeginStep(rates);
      model.FillGradients(1.0f);
      for (std::size_t i = 0; i < model.tensors(); ++i) optimizer.GradientReady(i);
      optimizer.Step();
      const std::vector<float> after = model.Values();
      const std::size_t bias_begin = model.gradient(0).size();
      const std::size_t bias_end = bias_begin + model.gradient(1).size();
      for (std::size_t i = 0; i < after.size(); ++i) {
        const bool bias = i >= bias_begin && i < bias_end;
        EXPECT_EQ(after[i], before[i] - rates[bias ? 1 : 0]) << "entry " << i;
      }
    }
  });
}

TEST(LearningRates, OneRateHoldsForAllGroups) {
  RunLocal(2, [](Engine& engine) {
    Model model;
    const std::vector<float> before = model.Values();
    DistributedOptimizer optimizer(engine, InTwoGroups(model), {});
    optimizer.BeginStep(0.5f);
    model.FillGradients(1.0f);
    for (std::size_t i = 0; i < model.tensors(); ++i) optimizer.GradientReady(i);
    optimizer.Step();
    const std::vector<float> after = model.Values();
    for (std::size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i], before[i] - 0.5f);
  });
}

TEST(LearningRates, TooFewAreRefusedAndNoStepIsOpened) {
  RunLocal(2, [](Engine& engine) {
    Model model;
    DistributedOptimizer optimizer(engine, InTwoGroups(model), {.name = "sgd"});
    for (const std::vector<float>& rates : {std::vector<float>{}, std::vector<float>{0.1f}}) {
      EXPECT_THAT([&] { optimizer.BeginStep(rates); },
                  ThrowsMessage<InvalidArgument>(
                      AllOf(HasSubstr("got " + std::to_string(rates.size()) + " learning rates"),
                            HasSubstr("2 parameter groups of 'sgd'"))));
    }
    EXPECT_EQ(TakeStep(optimizer, model, 0, engine.rank()).step, 0);
  });
}

}  // namespace
}  // namespace weir::learning_rates_test
