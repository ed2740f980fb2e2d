// momentum=adam is one option: an optimizer that was SGD becomes AdamW, or Adam with its decay in
// the gradient (weight_decay_form=local).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/plugins/checkpoint.h"
#include "tests/plugins/model.h"
#include "weir/engine.h"
#include "weir/optimizer.h"

namespace weir::adam_test {
namespace {

using testing::FloatNear;
using testing::Pointwise;

using Compression = std::map<std::string, std::string>;

constexpr int kSteps = 20;

Compression Adam(const std::string& density) {
  return {{"compressor", "dgc"}, {"density", density}, {"min_elements", "0"}, {"values", "fp32"},
          {"policy", "always"},  {"momentum", "adam"}, {"beta1", "0.8"},      {"beta2", "0.95"}};
}

/// Adam on one rank, a number at a time and in double (Kingma and Ba, algorithm 1).
class ReferenceAdam {
 public:
  ReferenceAdam(double decay, bool decoupled, const std::vector<float>& start)
      : decay_(decay), decoupled_(decoupled), values_(start.begin(), start.end()) {
    u_.resize(values_.size());
    s_.resize(values_.size());
  }

  void Step(std::span<const float> gradient, double rate) {
    ++steps_;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const double g = gradient[i] + (decoupled_ ? 0.0 : decay_ * values_[i]);
      u_[i] = 0.8 * u_[i] + 0.2 * g;
      s_[i] = 0.95 * s_[i] + 0.05 * g * g;
      const double u = u_[i] / (1.0 - std::pow(0.8, steps_));
      const double s = s_[i] / (1.0 - std::pow(0.95, steps_));
      if (decoupled_) values_[i] *= 1.0 - rate * decay_;
      values_[i] -= rate * u / (std::sqrt(s) + 1e-8);
    }
  }

  const std::vector<double>& values() const { return values_; }

 private:
  double decay_;
  bool decoupled_;
  int steps_ = 0;
  std::vector<double> values_, u_, s_;
};

struct Case {
  std::string name;
  float decay;
  bool decoupled;
};

class LocalAdam : public testing::TestWithParam<Case> {
 protected:
  OptimizerOptions Options(bool decay_in_dictionary) const {
    OptimizerOptions options{.compression = Adam("1")};
    if (decay_in_dictionary) {
      options.compression["weight_decay"] = std::to_string(GetParam().decay);
    } else {
      options.weight_decay = GetParam().decay;
    }
    if (!GetParam().decoupled) options.compression["weight_decay_form"] = "local";
    return options;
  }
};

// Several ranks have the same gradients, so each finds what one rank would find. One of the
// parameters is one-dimensional and stays dense.
TEST_P(LocalAdam, WithEverythingSentIsAdam) {
  for (const bool decay_in_dictionary : {false, true}) {
    RunLocal(2, [&](Engine& engine) {
      Model model;
      DistributedOptimizer optimizer(engine, model.Parameters(), Options(decay_in_dictionary));
      ReferenceAdam reference(GetParam().decay, GetParam().decoupled, model.Values());
      for (int step = 0; step < kSteps; ++step) {
        model.DrawGradients(step, 0);
        reference.Step(model.Gradients(), RateAt(step));
        TakeStep(optimizer, model, step, 0);
        ASSERT_THAT(model.Values(), Pointwise(FloatNear(2e-5f), reference.values()))
            << "after step " << step << " on rank " << engine.rank();
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(, LocalAdam,
                         testing::Values(Case{"WithoutDecay", 0.0f, true},
                                         Case{"DecayOutside", 0.1f, true},
                                         Case{"DecayLocal", 0.1f, false}),
                         [](const auto& test) { return test.param.name; });

// Once a rate is in a step it stays there: a rate of 0 keeps what is sent later.
TEST(LocalAdamSteps, AreSubtractedWithTheRateOfTheirOwnTime) {
  RunLocal(1, [](Engine& engine) {
    Model model;
    DistributedOptimizer optimizer(engine, model.Parameters(), {.compression = Adam("0.02")});
    TakeStep(optimizer, model, 1, 0);
    const std::vector<float> before = model.Values();
    optimizer.BeginStep(0.0f);
    model.FillGradients(0.0f);
    for (std::size_t i = 0; i < model.tensors(); ++i) optimizer.GradientReady(i);
    optimizer.Step();
    EXPECT_NE(model.Values(), before);
  });
}

TEST(LocalAdamSteps, OfTensorsByNameLeaveTheOthersToSgd) {
  Compression by_name = {{"compressor", "dense"}};
  for (const auto& [key, value] : Adam("1")) by_name[key + "[in]"] = value;
  RunLocal(1, [&](Engine& engine) {
    Model model, plain;
    DistributedOptimizer optimizer(engine, model.Parameters(), {.compression = by_name});
    DistributedOptimizer sgd(engine, plain.Parameters(), {.name = "sgd"});
    for (int step = 0; step < 3; ++step) {
      TakeStep(optimizer, model, step, 0);
      TakeStep(sgd, plain, step, 0);
    }
    const std::size_t in = model.gradient(0).size();
    const std::vector<float> found = model.Values(), expected = plain.Values();
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i] == expected[i], i >= in) << "entry " << i;
    }
  });
}

TEST(LocalAdamSteps, GoOnFromACheckpointAsIfNeverStopped) {
  const auto options = [] {
    return OptimizerOptions{.weight_decay = 0.1f, .compression = Adam("0.1")};
  };
  const Checkpoint whole = Train(2, options, 0, 8);
  const Checkpoint half = Train(2, options, 0, 4);
  const Checkpoint resumed = Train(2, options, 4, 8, &half);
  EXPECT_EQ(resumed.values, whole.values);
  EXPECT_TRUE(resumed.files == whole.files);
}

}  // namespace
}  // namespace weir::adam_test
