#include "weir/elastic.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/plugins/checkpoint.h"

namespace weir {
namespace {

// A job of this one process, which nobody lets go on without lost ranks.

TEST(Elastic, RunsTheProgramOnceWhereNobodyIsLost) {
  Elastic elastic;
  Model model;
  int runs = 0;
  elastic.Run([&](Engine& engine) {
    ++runs;
    DistributedOptimizer optimizer(engine, model.Parameters(), {.momentum = 0.9f});
    const std::vector<float> start = model.Values();
    elastic.Sync(optimizer);
    EXPECT_EQ(model.Values(), start);
    for (int step = 0; step < 4; ++step) TakeStep(optimizer, model, step, 0);
    elastic.Commit(optimizer);
  });
  EXPECT_EQ(runs, 1);
}

TEST(Elastic, GoesOnFromTheLastCommit) {
  Elastic elastic;
  Model model;
  std::vector<float> committed;
  EXPECT_THROW(elastic.Run([&](Engine& engine) {
    DistributedOptimizer optimizer(engine, model.Parameters(), {.momentum = 0.9f});
    elastic.Sync(optimizer);
    TakeStep(optimizer, model, 0, 0);
    elastic.Commit(optimizer);
    committed = model.Values();
    TakeStep(optimizer, model, 1, 0);
    throw std::runtime_error("made up");
  }),
               std::runtime_error);
  EXPECT_NE(model.Values(), committed);
  elastic.Run([&](Engine& engine) {
    DistributedOptimizer optimizer(engine, model.Parameters(), {.momentum = 0.9f});
    elastic.Sync(optimizer);
    EXPECT_EQ(optimizer.next_step(), 1);
    EXPECT_EQ(model.Values(), committed);
  });
}

TEST(Elastic, ErrorsOfTheProgramComeThrough) {
  Elastic elastic;
  EXPECT_THROW(elastic.Run([](Engine& engine) { engine.Wait(Handle{12345}); }), InvalidArgument);
}

TEST(Elastic, CallsOutsideRunAreRefused) {
  Elastic elastic;
  RunLocal(1, [&](Engine& engine) {
    Model model;
    DistributedOptimizer optimizer(engine, model.Parameters(), {});
    EXPECT_THROW(elastic.Sync(optimizer), InvalidArgument);
    EXPECT_THROW(elastic.Commit(optimizer), InvalidArgument);
  });
}

TEST(Adoption, TakesTheStateOfAnyOneRankToAnyNumberOfThem) {
  const MakeOptions options = [] {
    return OptimizerOptions{
        .momentum = 0.9f,
        .compression = {{"compressor", "dgc"}, {"density", "0.05"}, {"min_elements", "0"}}};
  };
  const Checkpoint saved = Train(3, options, 0, 6);
  RunLocal(2, [&](Engine& engine) {
    Model model(77);
    DistributedOptimizer optimizer(engine, model.Parameters(), options());
    std::istringstream one(saved.files[1]);
    optimizer.Adopt(one);
    EXPECT_EQ(model.Values(), saved.values[0]);
    EXPECT_EQ(optimizer.next_step(), 6);
    TakeStep(optimizer, model, 6, engine.rank());
    EXPECT_NE(model.Values(), saved.values[0]);
  });
}

}  // namespace
}  // namespace weir
