#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "examples/01-byte-lm/local_trainer.h"
#include "examples/01-byte-lm/random.h"
#include "examples/01-byte-lm/train.h"
#include "examples/01-byte-lm/validation.h"

namespace byte_lm {
namespace {

constexpr ModelShape kSmallModel = {.context = 6, .embedding = 8, .hidden = 32};

Text Verses() {
  const std::string line = "Shall I compare thee to a summer's day? Thou art more lovely. ";
  std::vector<std::uint8_t> bytes;
  for (int i = 0; i < 100; ++i) bytes.insert(bytes.end(), line.begin(), line.end());
  return Text(std::move(bytes));
}

RunResult TrainSmall(const Options& options, Model& model) {
  LocalTrainer trainer(model.parameters(), options.momentum);
  Progress silent(nullptr, false, options.steps);
  return Train(options, Verses(), model, trainer, silent);
}

// Rank r of n; sums are what all ranks together would give if each called in turn.
class OneOfMany : public LocalTrainer {
 public:
  OneOfMany(int rank, int ranks) : LocalTrainer({}, 0.0f), rank_(rank), ranks_(ranks) {}
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  double SumOverRanks(double value) override {
    parts.push_back(value);
    return value;
  }
  std::vector<double> parts;

 private:
  int rank_;
  int ranks_;
};

TEST(LocalTrainer, IsMomentumSgd) {
  std::vector<Parameter> parameters(1);
  parameters[0].value = Eigen::MatrixXf::Constant(1, 1, 1.0f);
  parameters[0].gradient = Eigen::MatrixXf::Constant(1, 1, 2.0f);
  LocalTrainer trainer(parameters, 0.5f);
  trainer.BeginStep(0.25f);
  trainer.ApplyStep();  // u = 2
  EXPECT_FLOAT_EQ(parameters[0].value(0, 0), 0.5f);
  trainer.BeginStep(0.125f);
  trainer.ApplyStep();  // u = 3
  EXPECT_FLOAT_EQ(parameters[0].value(0, 0), 0.125f);
}

TEST(Train, LossFallsIn200Steps) {
  Options options;
  options.steps = 200;
  options.eval_every = 50;
  options.learning_rate = 0.1f;
  Model model(kSmallModel, options.seed);
  const RunResult result = TrainSmall(options, model);
  ASSERT_EQ(result.curve.size(), 4u);
  EXPECT_EQ(result.curve.front().step, 50);
  EXPECT_EQ(result.curve.back().step, 200);
  EXPECT_LT(result.curve[0].bits_per_byte, 6.0);
  EXPECT_LT(result.bits_per_byte, 0.6 * result.curve[0].bits_per_byte);
}

TEST(Train, TheSameSeedGivesTheSameBits) {
  Options options;
  options.steps = 20;
  Model first(kSmallModel, options.seed);
  Model second(kSmallModel, options.seed);
  TrainSmall(options, first);
  TrainSmall(options, second);
  for (std::size_t p = 0; p < Model::kCount; ++p) {
    EXPECT_EQ(first.parameters()[p].value, second.parameters()[p].value);
  }
}

TEST(Validation, RanksShareTheWindowsAndMissNone) {
  const Text text = Verses();
  const Model model(kSmallModel, 1);
  Validation validation(text.validation(), kSmallModel);
  LocalTrainer alone({}, 0.0f);
  const double whole = validation.Whole(model, alone);

  double nats = 0.0;
  double windows = 0.0;
  for (int rank = 0; rank < 3; ++rank) {
    OneOfMany trainer(rank, 3);
    validation.Whole(model, trainer);
    ASSERT_EQ(trainer.parts.size(), 2u);
    nats += trainer.parts[0];
    windows += trainer.parts[1];
  }
  EXPECT_EQ(windows,
            static_cast<double>(CountWindows(text.validation().size(), kSmallModel.context)));
  EXPECT_NEAR(nats / windows / std::numbers::ln2, whole, 1e-6);
}

TEST(Validation, ASubsetIsSpreadOverTheText) {
  const Text text = Verses();
  const Model model(kSmallModel, 1);
  Validation validation(text.validation(), kSmallModel);
  OneOfMany counter(0, 1);
  validation.Subset(model, counter, 100);
  EXPECT_GE(counter.parts[1], 100.0);
  EXPECT_LE(counter.parts[1], 125.0);
}

}  // namespace
}  // namespace byte_lm
