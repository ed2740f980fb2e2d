#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/plugins/checkpoint.h"
#include "weir/engine.h"
#include "weir/optimizer.h"

namespace weir::rule_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// A program's own rule, with state of its own: Adagrad.
class Adagrad final : public UpdateRule {
 public:
  explicit Adagrad(std::vector<std::size_t>* order = nullptr) : order_(order) {
    for (const Parameter& parameter : Model().Parameters()) {
      sums_.emplace_back(parameter.value.size());
    }
  }

  void Apply(std::size_t parameter, std::span<float> value, std::span<float> direction,
             float learning_rate) override {
    if (order_ != nullptr) order_->push_back(parameter);
    for (std::size_t i = 0; i < value.size(); ++i) {
      float& sum = sums_[parameter][i];
      sum += direction[i] * direction[i];
      value[i] -= learning_rate * direction[i] / (1.0f + sum);
      direction[i] = 0.0f;  // Allowed: the direction is the rule's to change.
    }
  }

  std::vector<StateArray> State(std::size_t parameter) override {
    return {{"sum", sums_[parameter]}};
  }

 private:
  std::vector<std::size_t>* order_;
  std::vector<std::vector<float>> sums_;
};

OptimizerOptions Options() {
  OptimizerOptions options;
  options.rule = std::make_unique<Adagrad>();
  return options;
}

TEST(Rule, GetsTheMeanOfAllRanksParameterByParameter) {
  RunLocal(3, [](Engine& engine) {
    Model model;
    const std::vector<float> before = model.Values();
    std::vector<std::size_t> order;
    OptimizerOptions options;
    options.rule = std::make_unique<Adagrad>(&order);
    DistributedOptimizer optimizer(engine, model.Parameters(), std::move(options));
    optimizer.BeginStep(0.5f);
    model.FillGradients(static_cast<float>(engine.rank()));  // 0, 1, 2: the mean is 1.
    for (std::size_t i = 0; i < model.tensors(); ++i) optimizer.GradientReady(i);
    optimizer.Step();
    EXPECT_THAT(order, testing::ElementsAre(0, 1, 2));
    const std::vector<float> after = model.Values();
    for (std::size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i], before[i] - 0.25f);
  });
}

TEST(Rule, ItsStateIsSavedAndRestored) {
  const Checkpoint whole = Train(2, Options, 0, 8);
  const Checkpoint half = Train(2, Options, 0, 4);
  const Checkpoint resumed = Train(2, Options, 4, 8, &half);
  EXPECT_EQ(resumed.values, whole.values);
  EXPECT_TRUE(resumed.files == whole.files);
}

TEST(Rule, WorksOnWhatACompressorDeliversWithoutAMomentumThatNobodyAskedFor) {
  const auto trained = [](const std::map<std::string, std::string>& more) {
    return Train(
        3,
        [&more] {
          OptimizerOptions options = Options();
          options.compression = {{"compressor", "dgc"}, {"density", "0.1"}, {"min_elements", "0"}};
          options.compression.insert(more.begin(), more.end());
          return options;
        },
        0, 8);
  };
  const Checkpoint end = trained({});
  for (const auto& values : end.values) EXPECT_EQ(values, end.values.front());
  EXPECT_NE(end.values.front(), Model().Values());
  EXPECT_EQ(end.values, trained({{"momentum", "none"}}).values);
  EXPECT_NE(end.values, trained({{"momentum", "vanilla"}}).values);
}

TEST(Rule, LeavesNoRoomForTheOptionsOfSgd) {
  RunLocal(2, [](Engine& engine) {
    Model model;
    const auto make = [&](float momentum, float decay) {
      OptimizerOptions options = Options();
      options.momentum = momentum;
      options.weight_decay = decay;
      DistributedOptimizer(engine, model.Parameters(), std::move(options));
    };
    const auto refused = ThrowsMessage<InvalidArgument>(HasSubstr("with a rule of your own"));
    EXPECT_THAT([&] { make(0.9f, 0.0f); }, refused);
    EXPECT_THAT([&] { make(0.0f, 0.1f); }, refused);
    make(0.0f, 0.0f);  // And nothing was left behind.
  });
}

}  // namespace
}  // namespace weir::rule_test
