#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/plugins/model.h"
#include "weir/engine.h"
#include "weir/optimizer.h"

namespace weir::misuse_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Whatever was refused before, a step works afterwards.
void ExpectAStepWorks(DistributedOptimizer& optimizer, Model& model, Engine& engine) {
  const std::vector<float> before = model.Values();
  optimizer.BeginStep(0.5f);
  model.FillGradients(1.0f);
  for (std::size_t i = 0; i < model.tensors(); ++i) optimizer.GradientReady(i);
  optimizer.Step();
  EXPECT_EQ(model.Values().back(), before.back() - 0.5f) << "rank " << engine.rank();
}

TEST(Misuse, CallsOutOfOrderAreRefusedByName) {
  RunLocal(2, [](Engine& engine) {
    Model model;
    DistributedOptimizer optimizer(engine, model.Parameters(), {.name = "sgd"});
    EXPECT_THAT(
        [&] { optimizer.Step(); },
        ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("'sgd'"), HasSubstr("without BeginStep"))));
    EXPECT_THAT(
        [&] { optimizer.GradientReady(1); },
        ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("'bias'"), HasSubstr("outside a step"))));
    ExpectAStepWorks(optimizer, model, engine);
    EXPECT_THAT([&] { optimizer.Step(); },
                ThrowsMessage<InvalidArgument>(HasSubstr("without BeginStep")));
    optimizer.BeginStep(0.1f);
    EXPECT_THAT([&] { optimizer.BeginStep(0.1f); },
                ThrowsMessage<InvalidArgument>(
                    AllOf(HasSubstr("'sgd'"), HasSubstr("the step before is not finished"))));
    optimizer.Step();
    ExpectAStepWorks(optimizer, model, engine);
  });
}

TEST(Misuse, AnUnknownParameterAndARepeatedOneAreRefused) {
  RunLocal(2, [](Engine& engine) {
    Model model;
    DistributedOptimizer optimizer(engine, model.Parameters(), {});
    optimizer.BeginStep(0.1f);
    EXPECT_THAT([&] { optimizer.GradientReady(3); },
                ThrowsMessage<InvalidArgument>(
                    AllOf(HasSubstr("GradientReady(3)"), HasSubstr("3 parameters"))));
    optimizer.GradientReady(2);
    EXPECT_THAT([&] { optimizer.GradientReady(2); },
                ThrowsMessage<InvalidArgument>(HasSubstr("'out' more than 1 times")));
    optimizer.Step();
    ExpectAStepWorks(optimizer, model, engine);
  });
}

/// A refused GradientReady leaves the gradient as it was, whatever would have been added to it.
TEST(Misuse, ARefusedGradientIsUnchanged) {
  RunLocal(2, [](Engine& engine) {
    Model model;
    DistributedOptimizer optimizer(
        engine, model.Parameters(),
        {.momentum = 0.9f,
         .weight_decay = 0.1f,
         .compression = {{"compressor", "dgc"}, {"weight_decay_form", "local"}}});
    model.FillGradients(1.0f);
    EXPECT_THROW(optimizer.GradientReady(0), InvalidArgument);
    EXPECT_THAT(model.Gradients(), testing::Each(1.0f));
  });
}

TEST(Misuse, ParametersThatContradictThemselvesAreRefusedByName) {
  RunLocal(2, [](Engine& engine) {
    Model model;
    const auto with = [&](auto change) {
      return [&, change] {
        std::vector<Parameter> parameters = model.Parameters();
        change(parameters);
        DistributedOptimizer(engine, parameters, {});
      };
    };
    using Parameters = std::vector<Parameter>;
    EXPECT_THAT(with([](Parameters& p) { p[1].shape = Shape{9}; }),
                ThrowsMessage<InvalidArgument>(
                    AllOf(HasSubstr("'bias'"), HasSubstr("[9]"), HasSubstr("8 values"))));
    EXPECT_THAT(with([](Parameters& p) { p[0].gradient = p[0].gradient.first(47); }),
                ThrowsMessage<InvalidArgument>(
                    AllOf(HasSubstr("'in'"), HasSubstr("[8, 6]"), HasSubstr("47 gradient"))));
    EXPECT_THAT(with([](Parameters& p) { p[2].name = "in"; }),
                ThrowsMessage<InvalidArgument>(HasSubstr("two tensors named 'in'")));
    EXPECT_THAT(with([](Parameters& p) { p[2].name = ""; }),
                ThrowsMessage<InvalidArgument>(HasSubstr("has no name")));
    EXPECT_THAT(with([](Parameters& p) { p[2].parameter_group = -1; }),
                ThrowsMessage<InvalidArgument>(
                    AllOf(HasSubstr("'out'"), HasSubstr("negative parameter group"))));
    EXPECT_THAT(with([](Parameters& p) { p.clear(); }),
                ThrowsMessage<InvalidArgument>(HasSubstr("no tensors")));
    DistributedOptimizer optimizer(engine, model.Parameters(), {});
    ExpectAStepWorks(optimizer, model, engine);
  });
}

TEST(Misuse, OptionsThatContradictEachOtherAreRefused) {
  RunLocal(2, [](Engine& engine) {
    Model model;
    const auto with = [&](auto change) {
      return [&, change] {
        OptimizerOptions options;
        change(options);
        DistributedOptimizer(engine, model.Parameters(), std::move(options));
      };
    };
    EXPECT_THAT(with([](OptimizerOptions& o) { o.momentum = 1.0f; }),
                ThrowsMessage<InvalidArgument>(HasSubstr("below 1, not 1.0")));
    EXPECT_THAT(with([](OptimizerOptions& o) { o.weight_decay = -0.1f; }),
                ThrowsMessage<InvalidArgument>(HasSubstr("at least 0, not -0.1")));
    EXPECT_THAT(with([](OptimizerOptions& o) { o.backward_passes_per_step = 0; }),
                ThrowsMessage<InvalidArgument>(HasSubstr("at least 1, not 0")));
    EXPECT_THAT(
        with([](OptimizerOptions& o) {
          o.momentum = 0.9f;
          o.compression = {{"compressor", "dgc"}, {"momentum", "nesterov"}};
        }),
        ThrowsMessage<InvalidArgument>(HasSubstr("momentum is given to the optimizer and")));
    EXPECT_THAT(
        with([](OptimizerOptions& o) {
          o.momentum = 0.9f;
          o.compression = {{"compressor", "dgc"}, {"momentum", "adam"}};
        }),
        ThrowsMessage<InvalidArgument>(HasSubstr("momentum is given to the optimizer and")));
    EXPECT_THAT(
        with([](OptimizerOptions& o) {
          o.momentum = 0.5f;
          o.compression = {{"compressor", "dgc"}, {"momentum_mu", "0.9"}};
        }),
        ThrowsMessage<InvalidArgument>(HasSubstr("momentum is given to the optimizer and")));
    EXPECT_THAT(
        with([](OptimizerOptions& o) {
          o.momentum = 0.5f;
          o.compression = {
              {"compressor", "topk"}, {"momentum", "nesterov"}, {"momentum_mu", "0.9"}};
        }),
        ThrowsMessage<InvalidArgument>(HasSubstr("momentum is given to the optimizer and")));
    EXPECT_THAT(with([](OptimizerOptions& o) { o.nesterov = true; }),
                ThrowsMessage<InvalidArgument>(HasSubstr("momentum above 0")));
    EXPECT_THAT(
        with([](OptimizerOptions& o) {
          o.weight_decay = 0.1f;
          o.compression = {{"compressor", "dgc"}, {"weight_decay", "0.1"}};
        }),
        ThrowsMessage<InvalidArgument>(HasSubstr("weight decay is given to the optimizer")));
    EXPECT_THAT(with([](OptimizerOptions& o) {
                  o.compression = {{"compresor", "dgc"}};
                }),
                ThrowsMessage<InvalidArgument>(HasSubstr("compresor")));
  });
}

TEST(Misuse, RanksWithDifferentOptionsLearnItAllAlike) {
  RunLocal(3, [](Engine& engine) {
    Model model;
    const bool odd = engine.rank() == 1;
    const auto with = [&](auto change) {
      return [&, change] {
        OptimizerOptions options;
        options.momentum = 0.5f;
        if (odd) change(options);
        DistributedOptimizer(engine, model.Parameters(), std::move(options));
      };
    };
    EXPECT_THAT(with([](OptimizerOptions& o) { o.momentum = 0.9f; }),
                ThrowsMessage<Mismatch>(HasSubstr("momentum of the optimizer=0.9")));
    EXPECT_THAT(with([](OptimizerOptions& o) { o.nesterov = true; }),
                ThrowsMessage<Mismatch>(HasSubstr("nesterov=true")));
    EXPECT_THAT(with([](OptimizerOptions& o) { o.weight_decay = 0.1f; }),
                ThrowsMessage<Mismatch>(HasSubstr("weight decay=0.1")));
    EXPECT_THAT(with([](OptimizerOptions& o) { o.backward_passes_per_step = 2; }),
                ThrowsMessage<Mismatch>(HasSubstr("backward passes per step=2")));
    DistributedOptimizer optimizer(engine, model.Parameters(), {});
    ExpectAStepWorks(optimizer, model, engine);
  });
}

TEST(Misuse, RanksWithDifferentModelsLearnItAllAlike) {
  RunLocal(3, [](Engine& engine) {
    Model model;
    std::vector<Parameter> parameters = model.Parameters();
    if (engine.rank() == 2) {
      parameters[1].value = parameters[1].value.first(7);
      parameters[1].gradient = parameters[1].gradient.first(7);
      parameters[1].shape = Shape{7};
    }
    EXPECT_THAT([&] { DistributedOptimizer(engine, parameters, {}); },
                ThrowsMessage<Mismatch>(AllOf(HasSubstr("rank 0 has 'bias' float32 [8]"),
                                              HasSubstr("rank 2 has 'bias' float32 [7]"))));
    // The engine goes on.
    DistributedOptimizer optimizer(engine, model.Parameters(), {});
    ExpectAStepWorks(optimizer, model, engine);
  });
}

}  // namespace
}  // namespace weir::misuse_test
