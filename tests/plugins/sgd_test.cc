#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/plugins/model.h"
#include "tests/plugins/reference_sgd.h"
#include "weir/engine.h"
#include "weir/optimizer.h"

namespace weir::sgd_test {
namespace {

using testing::FloatNear;
using testing::Pointwise;

constexpr float kM = 0.9f;
constexpr int kSteps = 12;

using Compression = std::map<std::string, std::string>;
/// Nothing is held back and nothing masked: identity 1 of the algorithm.
const Compression kEverything = {{"compressor", "dgc"},
                                 {"density", "1"},
                                 {"momentum_masking", "false"},
                                 {"values", "fp32"},
                                 {"min_elements", "0"}};

struct Case {
  std::string name;
  Momentum momentum;
  float weight_decay;
  Compression compression;
};

OptimizerOptions OptionsOf(const Case& c) {
  OptimizerOptions options;
  options.momentum = c.momentum == Momentum::kNone ? 0.0f : kM;
  options.nesterov = c.momentum == Momentum::kNesterov;
  options.weight_decay = c.weight_decay;
  options.compression = c.compression;
  return options;
}

Compression With(Compression options, const std::string& key, const std::string& value) {
  options[key] = value;
  return options;
}

// The compressor decides who handles the momentum, wherever it was asked for.
TEST(DefaultCompression, IsThatOfAnOptimizerThatNamesNone) {
  std::vector<std::vector<float>> results;
  for (const bool in_settings : {false, true}) {
    Settings settings;
    OptimizerOptions options;
    (in_settings ? settings.compression : options.compression) = kEverything;
    RunLocal(
        1,
        [&](Engine& engine) {
          Model model;
          DistributedOptimizer optimizer(
              engine, model.Parameters(),
              {.momentum = kM, .weight_decay = 0.01f, .compression = options.compression});
          for (int step = 0; step < kSteps; ++step) TakeStep(optimizer, model, step, 0);
          results.push_back(model.Values());
        },
        settings);
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(MomentumBesideACodec, IsTheOptimizersUnlessTheCompressorHasItsOwn) {
  const Compression nesterov = {
      {"compressor", "topk"}, {"momentum", "nesterov"}, {"k", "0.3"}, {"min_elements", "0"}};
  for (const Compression& compression : {nesterov, Compression{{"compressor", "signum"}}}) {
    std::vector<std::vector<float>> results;
    for (const bool in_compressor : {false, true}) {
      RunLocal(1, [&](Engine& engine) {
        Model model;
        OptimizerOptions options = {
            .momentum = in_compressor ? 0.0f : 0.75f,
            .compression = in_compressor ? With(compression, "momentum_mu", "0.75") : compression};
        DistributedOptimizer optimizer(engine, model.Parameters(), std::move(options));
        for (int step = 0; step < kSteps; ++step) TakeStep(optimizer, model, step, 0);
        results.push_back(model.Values());
      });
    }
    EXPECT_EQ(results[0], results[1]);
  }
}

/// The gradients of Model do not depend on its values, so that each parameter goes its own way.
TEST(OptionsByName, EveryParameterIsTrainedAsInAnOptimizerWithItsOptionsAlone) {
  const Compression dgc = {{"compressor", "dgc"}, {"density", "0.1"}, {"min_elements", "0"}};
  const Compression topk = {
      {"compressor", "topk"}, {"momentum", "nesterov"}, {"k", "0.3"}, {"min_elements", "0"}};
  Compression mixed = With(dgc, "compressor[b*s]", "dense");
  for (const auto& [key, value] : topk) mixed[key + "[out]"] = value;
  const auto train = [](const Compression& compression) {
    std::vector<float> values;
    RunLocal(2, [&](Engine& engine) {
      Model model;
      DistributedOptimizer optimizer(
          engine, model.Parameters(),
          {.momentum = 0.75f, .weight_decay = 0.05f, .compression = compression});
      for (int step = 0; step < kSteps; ++step) TakeStep(optimizer, model, step, engine.rank());
      if (engine.rank() == 0) values = model.Values();
    });
    return values;
  };
  const std::vector<float> found = train(mixed);
  auto value = found.begin();
  Model model;
  const std::vector<Compression> alone = {dgc, {{"compressor", "dense"}}, topk};
  for (std::size_t i = 0; i < alone.size(); ++i) {
    const std::vector<float> expected = train(alone[i]);
    for (std::size_t j = 0; j < model.gradient(i).size(); ++j, ++value) {
      ASSERT_EQ(*value, expected[static_cast<std::size_t>(value - found.begin())]) << i << " " << j;
    }
  }
}

class Sgd : public testing::TestWithParam<std::tuple<Case, int>> {
 protected:
  /// A run of the same kind with gradients of any sort, against the reference.
  void ExpectReference(const std::function<void(Model&, int step, int rank)>& draw,
                       const std::function<void(ReferenceSgd&, int step, int ranks)>& expect) {
    const Case& c = std::get<0>(GetParam());
    RunLocal(std::get<1>(GetParam()), [&](Engine& engine) {
      Model model;
      ReferenceSgd reference(c.momentum, kM, c.weight_decay, model.Values());
      DistributedOptimizer optimizer(engine, model.Parameters(), OptionsOf(c));
      for (int step = 0; step < kSteps; ++step) {
        optimizer.BeginStep(RateAt(step));
        draw(model, step, engine.rank());
        for (std::size_t i = 0; i < model.tensors(); ++i) optimizer.GradientReady(i);
        EXPECT_EQ(optimizer.Step().step, step);
        expect(reference, step, engine.size());
        ASSERT_THAT(model.Values(), Pointwise(FloatNear(2e-5f), reference.values()))
            << "after step " << step << " on rank " << engine.rank();
      }
    });
  }
};

TEST_P(Sgd, EqualsTheDenseReference) {
  ExpectReference(
      [](Model& model, int step, int rank) { model.DrawGradients(step, rank); },
      [](ReferenceSgd& reference, int step, int ranks) { reference.Step(step, ranks); });
}

/// Identity 6: what decay alone does is what it does in dense momentum SGD.
TEST_P(Sgd, WithoutGradientsDecayIsThatOfTheDenseReference) {
  ExpectReference([](Model& model, int, int) { model.FillGradients(0.0f); },
                  [](ReferenceSgd& reference, int step, int) {
                    reference.Step(std::vector<double>(reference.values().size()), RateAt(step));
                  });
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const auto& [kind, momentum] : {std::pair{std::string("NoMomentum"), Momentum::kNone},
                                       std::pair{std::string("Vanilla"), Momentum::kVanilla},
                                       std::pair{std::string("Nesterov"), Momentum::kNesterov}}) {
    cases.push_back({kind, momentum, 0.0f, {}});
    cases.push_back({kind + "Decay", momentum, 0.05f, {}});
    cases.push_back({kind + "Dgc", momentum, 0.0f, kEverything});
    cases.push_back({kind + "DgcDecayOutside", momentum, 0.05f, kEverything});
    cases.push_back(
        {kind + "DgcDecayLocal", momentum, 0.05f, With(kEverything, "weight_decay_form", "local")});
    // Different parameters have their momentum handled differently.
    const Compression mixed = With(kEverything, "compressor[[bo]*]", "dense");
    cases.push_back({kind + "DgcBesideDense", momentum, 0.0f, mixed});
    cases.push_back({kind + "DgcBesideDenseDecayOutside", momentum, 0.05f, mixed});
    cases.push_back({kind + "DgcBesideDenseDecayLocal", momentum, 0.05f,
                     With(mixed, "weight_decay_form", "local")});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, Sgd,
                         testing::Combine(testing::ValuesIn(Cases()), testing::Values(1, 2, 3, 4)),
                         [](const auto& each) {
                           return std::get<0>(each.param).name + "On" +
                                  std::to_string(std::get<1>(each.param));
                         });

/// At density 1 with masking, momentum never builds up: identity 2.
TEST(SgdMasking, LeavesPlainSgdWhenEverythingIsSent) {
  RunLocal(2, [&](Engine& engine) {
    Model model;
    const std::size_t bias_begin = model.gradient(0).size();
    const std::size_t bias_end = bias_begin + model.gradient(1).size();
    ReferenceSgd reference(Momentum::kNone, 0.0, 0.0, model.Values());
    DistributedOptimizer optimizer(
        engine, model.Parameters(),
        {.momentum = kM, .compression = With(kEverything, "momentum_masking", "true")});
    for (int step = 0; step < kSteps; ++step) {
      TakeStep(optimizer, model, step, engine.rank());
      reference.Step(step, engine.size());
      const std::vector<float> values = model.Values();
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (i >= bias_begin && i < bias_end) continue;  // Dense tensors keep their momentum.
        ASSERT_NEAR(values[i], reference.values()[i], 2e-5) << "entry " << i << ", step " << step;
      }
    }
  });
}

/// A loss scale comes off before the momentum, and weight decay carries none.
TEST(SgdLossScale, ChangesNothing) {
  for (const char* form : {"outside", "local"}) {
    const auto train = [&](float scale) {
      std::vector<float> values;
      RunLocal(2, [&](Engine& engine) {
        Model model;
        DistributedOptimizer optimizer(
            engine, model.Parameters(),
            {.momentum = kM,
             .weight_decay = 0.05f,
             .compression = With(kEverything, "weight_decay_form", form)});
        for (int step = 0; step < kSteps; ++step) {
          optimizer.BeginStep(RateAt(step), scale);
          model.DrawGradients(step, engine.rank());
          for (std::size_t i = 0; i < model.tensors(); ++i) {
            for (float& g : model.gradient(i)) g *= scale;
            optimizer.GradientReady(i);
          }
          optimizer.Step();
        }
        if (engine.rank() == 0) values = model.Values();
      });
      return values;
    };
    // A power of two, so that not even rounding differs.
    EXPECT_EQ(train(1024.0f), train(1.0f)) << form;
  }
}

}  // namespace
}  // namespace weir::sgd_test
