// StepLater: the values of Step, parameter by parameter.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/plugins/model.h"
#include "weir/engine.h"
#include "weir/error.h"
#include "weir/optimizer.h"

namespace weir::step_later_test {
namespace {

using Compression = std::map<std::string, std::string>;
constexpr int kSteps = 8;

OptimizerOptions OptionsOf(const Compression& compression, bool cross_barrier = true) {
  OptimizerOptions options;
  options.momentum = 0.9f;
  options.weight_decay = 0.01f;
  options.compression = compression;
  options.cross_barrier = cross_barrier;
  return options;
}

/// Computes the gradients of a step, all of them but those of a parameter that is left out.
void Compute(DistributedOptimizer& optimizer, Model& model, int step, int rank,
             std::size_t left_out = 99) {
  optimizer.BeginStep(RateAt(step));
  model.DrawGradients(step, rank);
  for (std::size_t i = model.tensors(); i-- > 0;) {
    if (i != left_out) optimizer.GradientReady(i);
  }
}

class StepLater : public testing::TestWithParam<Compression> {};

TEST_P(StepLater, GivesTheValuesOfStep) {
  for (const std::size_t left_out : {std::size_t{99}, std::size_t{1}}) {
    RunLocal(3, [&](Engine& engine) {
      Model ours, theirs;
      OptimizerOptions options = OptionsOf(GetParam());
      options.name = "ours";
      DistributedOptimizer later(engine, ours.Parameters(), std::move(options));
      DistributedOptimizer whole(engine, theirs.Parameters(), OptionsOf(GetParam(), false));
      for (int step = 0; step < kSteps; ++step) {
        Compute(later, ours, step, engine.rank(), left_out);
        later.StepLater();
        // Some updates are left to the next BeginStep.
        for (std::size_t i = 0; i < ours.tensors() - static_cast<std::size_t>(step % 3); ++i) {
          later.Update(i);
          later.Update(i);
        }
        Compute(whole, theirs, step, engine.rank(), left_out);
        const StepReport report = whole.Step();
        if (step % 3 == 0) {
          EXPECT_EQ(ours.Values(), theirs.Values()) << "step " << step;
        }
        EXPECT_EQ(later.Finish().step, report.step);
        EXPECT_EQ(ours.Values(), theirs.Values()) << "step " << step;
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(
    Compressions, StepLater,
    testing::Values(Compression{{"compressor", "dense"}},
                    Compression{{"compressor", "dgc"}, {"density", "0.2"}, {"min_elements", "0"}},
                    Compression{{"compressor", "dgc"},
                                {"density", "0.2"},
                                {"min_elements", "0"},
                                {"skip_nonfinite", "true"}}));

TEST(StepLaterAlone, ReturnsBeforeOtherRanksTakeTheStep) {
  RunLocal(2, [](Engine& engine) {
    Model model;
    DistributedOptimizer optimizer(engine, model.Parameters(), OptionsOf({}));
    const auto take = [&] {
      Compute(optimizer, model, 0, engine.rank());
      optimizer.StepLater();
    };
    if (engine.rank() == 0) take();
    engine.Wait(engine.Barrier("rank 0 has returned"));  // Would not be reached if it waited.
    if (engine.rank() != 0) take();
    optimizer.Finish();
  });
}

TEST(StepLaterAlone, IsFinishedBeforeAStateIsSavedOrTheOptimizerGoes) {
  RunLocal(2, [](Engine& engine) {
    Model saved, destroyed, reference;
    std::vector<float> restored;
    std::stringstream state;
    {
      OptimizerOptions first = OptionsOf({}), second = OptionsOf({}), third = OptionsOf({});
      first.name = "saved";
      second.name = "destroyed";
      DistributedOptimizer one(engine, saved.Parameters(), std::move(first));
      DistributedOptimizer two(engine, destroyed.Parameters(), std::move(second));
      DistributedOptimizer whole(engine, reference.Parameters(), std::move(third));
      Compute(one, saved, 0, engine.rank());
      one.StepLater();
      one.Save(state);
      Compute(two, destroyed, 0, engine.rank());
      two.StepLater();
      Compute(whole, reference, 0, engine.rank());
      whole.Step();
      EXPECT_EQ(saved.Values(), reference.Values());
      TakeStep(one, saved, 1, engine.rank());
      Compute(one, saved, 2, engine.rank());
      one.StepLater();
      std::istream* const own[] = {&state};
      one.Load(own);
      EXPECT_EQ(saved.Values(), reference.Values());
    }
    EXPECT_EQ(destroyed.Values(), reference.Values());
  });
}

TEST(StepLaterAlone, IsRefusedWithoutCrossBarrierAndForAWrongParameter) {
  RunLocal(1, [](Engine& engine) {
    Model model;
    DistributedOptimizer optimizer(engine, model.Parameters(), OptionsOf({}, false));
    Compute(optimizer, model, 0, 0);
    EXPECT_THROW(optimizer.StepLater(), InvalidArgument);
    EXPECT_THROW(optimizer.Update(3), InvalidArgument);
    optimizer.Step();
  });
}

}  // namespace
}  // namespace weir::step_later_test
