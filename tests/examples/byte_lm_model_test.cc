#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "examples/01-byte-lm/model.h"
#include "examples/01-byte-lm/random.h"

namespace byte_lm {
namespace {

constexpr ModelShape kSmall = {.context = 5, .embedding = 4, .hidden = 16};

// Bytes of a small alphabet, so that a byte occurs several times in a batch and in a window.
std::vector<std::uint8_t> SmallText() {
  std::vector<std::uint8_t> text(300);
  for (std::size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<std::uint8_t>('a' + RandomBits({99, i}) % 6);
  }
  return text;
}

Batch DrawBatch(const std::vector<std::uint8_t>& text, const ModelShape& shape, int size) {
  Batch batch(shape.context, size);
  Sampler(text, shape.context, 1).Fill(0, 0, batch);
  return batch;
}

double MeanLoss(const Model& model, const Batch& batch) {
  Activations activations(model.shape(), batch.size());
  model.Forward(batch, activations);
  return activations.loss.cast<double>().mean();
}

TEST(Model, HasAMillionParametersInFiveTensors) {
  const Model model({}, 1);
  EXPECT_EQ(model.parameter_count(), 1'058'048);
  std::vector<std::string> names;
  for (const Parameter& parameter : model.parameters()) names.push_back(parameter.name);
  EXPECT_THAT(names, testing::ElementsAre("embedding", "hidden.weight", "hidden.bias",
                                          "output.weight", "output.bias"));
}

TEST(Model, InitialParametersFollowFromTheSeed) {
  const Model model(kSmall, 1);
  const Model same(kSmall, 1);
  const Model other(kSmall, 2);
  EXPECT_EQ(model.parameters()[Model::kHiddenWeight].value,
            same.parameters()[Model::kHiddenWeight].value);
  EXPECT_NE(model.parameters()[Model::kHiddenWeight].value,
            other.parameters()[Model::kHiddenWeight].value);
}

TEST(Model, UntrainedIsAsGoodAsGuessing) {
  const std::vector<std::uint8_t> text = SmallText();
  const Model model({}, 1);
  EXPECT_NEAR(MeanLoss(model, DrawBatch(text, model.shape(), 64)) / std::numbers::ln2, 8.0, 0.5);
}

TEST(Model, LossIsMinusLogOfTheTargetsProbability) {
  const std::vector<std::uint8_t> text = SmallText();
  const Model model(kSmall, 1);
  const Batch batch = DrawBatch(text, kSmall, 8);
  Activations activations(kSmall, 8);
  model.Forward(batch, activations);
  for (int b = 0; b < 8; ++b) {
    EXPECT_NEAR(activations.output.col(b).sum(), 1.0f, 1e-5f);
    const float probability = activations.output(batch.targets[static_cast<std::size_t>(b)], b);
    EXPECT_NEAR(activations.loss(b), -std::log(probability), 1e-4f);
  }
}

TEST(Model, HugeLogitsDoNotOverflow) {
  const std::vector<std::uint8_t> text = SmallText();
  Model model(kSmall, 1);
  model.parameters()[Model::kOutputBias].value(0, 0) = 1e4f;
  EXPECT_TRUE(std::isfinite(MeanLoss(model, DrawBatch(text, kSmall, 8))));
}

TEST(Model, HooksComeInBackwardOrderWithTheGradientComplete) {
  const std::vector<std::uint8_t> text = SmallText();
  Model model(kSmall, 1);
  const Batch batch = DrawBatch(text, kSmall, 8);
  Activations activations(kSmall, 8);
  std::vector<int> order;
  std::vector<Eigen::MatrixXf> at_hook(Model::kCount);
  for (Parameter& parameter : model.parameters()) parameter.gradient.setConstant(NAN);

  model.Forward(batch, activations);
  model.Backward(batch, activations, [&](int p) {
    order.push_back(p);
    at_hook[static_cast<std::size_t>(p)] = model.parameters()[static_cast<std::size_t>(p)].gradient;
  });

  EXPECT_THAT(order,
              testing::ElementsAre(Model::kOutputBias, Model::kOutputWeight, Model::kHiddenBias,
                                   Model::kHiddenWeight, Model::kEmbedding));
  for (std::size_t p = 0; p < Model::kCount; ++p) {
    EXPECT_EQ(at_hook[p], model.parameters()[p].gradient) << model.parameters()[p].name;
  }
}

// Purpose of the hook: a later layer's exchange runs before earlier gradients exist.
TEST(Model, HooksComeBeforeTheNextLayerIsComputed) {
  const std::vector<std::uint8_t> text = SmallText();
  Model model(kSmall, 1);
  const Batch batch = DrawBatch(text, kSmall, 8);
  Activations activations(kSmall, 8);
  model.parameters()[Model::kEmbedding].gradient.setConstant(NAN);
  model.parameters()[Model::kHiddenWeight].gradient.setConstant(NAN);

  model.Forward(batch, activations);
  model.Backward(batch, activations, [&](int p) {
    if (p > Model::kHiddenWeight) {
      EXPECT_TRUE(model.parameters()[Model::kHiddenWeight].gradient.array().isNaN().all());
    }
    if (p > Model::kEmbedding) {
      EXPECT_TRUE(model.parameters()[Model::kEmbedding].gradient.array().isNaN().all());
    }
  });
}

class Gradient : public testing::TestWithParam<Model::Index> {};

// Along the gradient itself the slope of the loss is the gradient's norm; along a random direction
// it is the inner product. Central differences in fp32 are good to about 1 %.
TEST_P(Gradient, EqualsFiniteDifferences) {
  const std::vector<std::uint8_t> text = SmallText();
  Model model(kSmall, 1);
  // Biases start at 0 and embeddings small: move to a point where nothing is special.
  for (Parameter& parameter : model.parameters()) {
    for (Eigen::Index i = 0; i < parameter.value.size(); ++i) {
      parameter.value.data()[i] += RandomUnit({5, static_cast<std::uint64_t>(i)}) - 0.5f;
    }
  }
  const Batch batch = DrawBatch(text, kSmall, 32);
  Activations activations(kSmall, 32);
  model.Forward(batch, activations);
  model.Backward(batch, activations, [](int) {});
  Parameter& parameter = model.parameters()[GetParam()];
  const Eigen::MatrixXf start = parameter.value;

  for (std::uint64_t trial = 0; trial < 4; ++trial) {
    Eigen::MatrixXf direction = parameter.gradient.normalized();
    for (Eigen::Index i = 0; trial > 0 && i < direction.size(); ++i) {
      // Only where there is a gradient: unused rows of the embedding would hide an error.
      const float noise = RandomUnit({6, trial, static_cast<std::uint64_t>(i)}) - 0.5f;
      if (direction.data()[i] != 0.0f) direction.data()[i] += noise;
    }
    direction.normalize();
    constexpr float kStep = 4e-3f;
    parameter.value = start + kStep * direction;
    const double up = MeanLoss(model, batch);
    parameter.value = start - kStep * direction;
    const double down = MeanLoss(model, batch);
    const double slope = (up - down) / (2.0 * kStep);
    const double expected = parameter.gradient.cwiseProduct(direction).sum();
    EXPECT_NEAR(slope, expected, 0.01 * parameter.gradient.norm()) << "trial " << trial;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Gradient,
                         testing::Values(Model::kEmbedding, Model::kHiddenWeight,
                                         Model::kHiddenBias, Model::kOutputWeight,
                                         Model::kOutputBias));

}  // namespace
}  // namespace byte_lm
