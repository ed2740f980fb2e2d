#include <gtest/gtest.h>

#include <vector>

#include "tests/plugins/model.h"
#include "weir/engine.h"
#include "weir/optimizer.h"

namespace weir::start_test {
namespace {

class Start : public testing::TestWithParam<int> {};

TEST_P(Start, EveryRankBeginsWithTheValuesOfRankZeroAndKeepsThemEqual) {
  const int ranks = GetParam();
  std::vector<std::vector<float>> values(static_cast<std::size_t>(ranks));
  RunLocal(ranks, [&](Engine& engine) {
    Model model(static_cast<unsigned>(100 + engine.rank()));
    DistributedOptimizer optimizer(engine, model.Parameters(), {.momentum = 0.9f});
    EXPECT_EQ(model.Values(), Model(100).Values()) << "rank " << engine.rank();
    for (int step = 0; step < 3; ++step) TakeStep(optimizer, model, step, engine.rank());
    values[static_cast<std::size_t>(engine.rank())] = model.Values();
  });
  for (const std::vector<float>& of_rank : values) EXPECT_EQ(of_rank, values.front());
}

TEST_P(Start, AnEngineServesOneOptimizerAfterTheOther) {
  RunLocal(GetParam(), [](Engine& engine) {
    Model model;
    for (int round = 0; round < 3; ++round) {
      DistributedOptimizer optimizer(engine, model.Parameters(), {});
      EXPECT_EQ(TakeStep(optimizer, model, round, engine.rank()).step, 0);
    }
  });
}

TEST_P(Start, TwoOptimizersOfDifferentNamesTrainSideBySide) {
  RunLocal(GetParam(), [](Engine& engine) {
    Model generator(1);
    Model critic(2);
    DistributedOptimizer one(engine, generator.Parameters(), {.name = "generator"});
    DistributedOptimizer two(engine, critic.Parameters(), {.momentum = 0.5f, .name = "critic"});
    for (int step = 0; step < 3; ++step) {
      one.BeginStep(1.0f);
      two.BeginStep(2.0f);
      generator.FillGradients(1.0f);
      critic.FillGradients(0.0f);
      for (std::size_t i = 0; i < generator.tensors(); ++i) {
        one.GradientReady(i);
        two.GradientReady(i);
      }
      two.Step();
      one.Step();
    }
    EXPECT_EQ(critic.Values(), Model(2).Values());
    EXPECT_EQ(generator.Values().front(), Model(1).Values().front() - 1.0f - 1.0f - 1.0f);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Start, testing::Values(1, 2, 3, 4),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir::start_test
