#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/plugins/checkpoint.h"
#include "weir/engine.h"
#include "weir/optimizer.h"

namespace weir::non_finite_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::map<std::string, std::string> Compression(const std::string& compressor) {
  std::map<std::string, std::string> options = {{"compressor", compressor},
                                                {"skip_nonfinite", "true"}};
  if (compressor == "topk") {
    options.insert({{"k", "0.1"}, {"ef", "vanilla"}, {"min_elements", "0"}});
  }
  if (compressor == "dgc") options.insert({{"density", "0.1"}, {"min_elements", "0"}});
  return options;
}

/// A step's number in a checkpoint moves on when the step is skipped; nothing else does.
std::string WithoutStepNumbers(std::string file) {
  // Each of the two parts: 8 magic, 4 version, ranks, rank, hosts, place and arrays, 8 step; 8
  // hash at its end (docs/wire-format.md, "Saved state").
  for (std::size_t at = file.find("WEIRSTAT"); at != std::string::npos;
       at = file.find("WEIRSTAT", at + 1)) {
    file.replace(at + 32, 8, 8, '\0');
    if (at > 8) file.replace(at - 8, 8, 8, '\0');
  }
  return file.substr(0, file.size() - 8);
}

class NonFinite : public testing::TestWithParam<std::tuple<std::string, float>> {};

TEST_P(NonFinite, OnOneRankSkipsTheStepOnAllAndLeavesWeightsAndStateAsTheyWere) {
  const auto& [compressor, broken] = GetParam();
  RunLocal(3, [&, compressor = compressor, broken = broken](Engine& engine) {
    Model model;
    OptimizerOptions options;
    options.weight_decay = 0.01f;
    options.momentum = compressor == "dgc" ? 0.9f : 0.0f;
    options.compression = Compression(compressor);
    DistributedOptimizer optimizer(engine, model.Parameters(), std::move(options));
    for (int step = 0; step < 3; ++step) {
      EXPECT_FALSE(TakeStep(optimizer, model, step, engine.rank()).skipped);
    }
    const std::vector<float> values = model.Values();
    const std::string state = SaveOf(optimizer);

    optimizer.BeginStep(0.7f);
    model.DrawGradients(3, engine.rank());
    if (engine.rank() == 1) model.gradient(2)[11] = broken;
    for (std::size_t i = 0; i < model.tensors(); ++i) optimizer.GradientReady(i);
    EXPECT_TRUE(optimizer.Step().skipped) << "rank " << engine.rank();
    EXPECT_EQ(model.Values(), values);
    EXPECT_EQ(WithoutStepNumbers(SaveOf(optimizer)), WithoutStepNumbers(state));

    EXPECT_FALSE(TakeStep(optimizer, model, 4, engine.rank()).skipped);
    EXPECT_NE(model.Values(), values);
  });
}

INSTANTIATE_TEST_SUITE_P(All, NonFinite,
                         testing::Combine(testing::Values("dgc", "topk", "fp16"),
                                          testing::Values(kInfinity, -kInfinity, kNan)));

/// Without the gate it counts as zero, so that no state is poisoned.
TEST(NonFiniteUngated, CountsAsZeroAndIsReported) {
  RunLocal(2, [](Engine& engine) {
    Model model;
    DistributedOptimizer optimizer(
        engine, model.Parameters(),
        {.momentum = 0.9f,
         .compression = {{"compressor", "dgc"}, {"density", "0.1"}, {"min_elements", "0"}}});
    optimizer.BeginStep(0.1f);
    model.DrawGradients(0, engine.rank());
    if (engine.rank() == 1) model.gradient(0)[5] = kNan;
    for (std::size_t i = 0; i < model.tensors(); ++i) optimizer.GradientReady(i);
    const StepReport report = optimizer.Step();
    EXPECT_FALSE(report.skipped);
    EXPECT_EQ(report.non_finite_entries, engine.rank() == 1 ? 1u : 0u);
    for (const float value : model.Values()) EXPECT_TRUE(std::isfinite(value));
  });
}

}  // namespace
}  // namespace weir::non_finite_test
