// Dedicated summation servers (weirrun --servers) on whole local jobs. One bucket's behaviour is
// tested in tests/coordinator/servers/served_bucket_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "coordinator/engine/local_job.h"
#include "ops/push_pull/server_messages.h"
#include "tests/coordinator/jobs/job.h"
#include "tests/coordinator/jobs/text_of.h"
#include "tests/coordinator/servers/served_training.h"
#include "weir/error.h"

namespace weir::served {
namespace {

using testing::HasSubstr;

class ServersTest : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  int ranks() const { return std::get<0>(GetParam()); }
  int servers() const { return std::get<1>(GetParam()); }
};

// Parts are added up in rank order and answered with a residual of their own, whoever does it.
TEST_P(ServersTest, GiveTheBitsThatTheRanksGiveAsServers) {
  const std::vector<Options> kinds = {
      {{"compressor", "dense"}},
      {{"compressor", "topk"}, {"k", "0.1"}, {"ef", "vanilla"}},
      {{"compressor", "onebit"}, {"scaling", "true"}, {"ef", "vanilla"}},
      {{"compressor", "randomk"}, {"k", "9"}, {"ef", "vanilla"}},
      {{"compressor", "threshold"}, {"threshold", "2"}, {"max_density", "0.2"}, {"ef", "vanilla"}},
      {{"compressor", "quant3"}, {"ef", "vanilla"}},
      {{"compressor", "dithering"}, {"ef", "vanilla"}},
      {{"compressor", "terngrad"}, {"ef", "vanilla"}},
      {{"compressor", "int8"}, {"ef", "vanilla"}},
      {{"compressor", "fp16"}, {"ef", "vanilla"}},
      {{"compressor", "bf16"}, {"ef", "vanilla"}},
      {{"compressor", "dgc"}, {"density", "0.1"}, {"warmup_steps", "4"}, {"policy", "always"}}};
  for (const Options& options : kinds) {
    SCOPED_TRACE(testing::PrintToString(options));
    const auto applied = [&](Engine& engine) {
      Trainer trainer(engine, PushPull(options));
      trainer.Steps(8);
      return trainer.applied();
    };
    const auto here = Results(RunLocal, ranks(), applied);
    const auto there = Results(RunLocal, ranks(), applied, WithServers(servers()));
    EXPECT_EQ(there, here);
  }
}

TEST_P(ServersTest, AreNoRanksForThePrograms) {
  RunLocal(
      ranks(),
      [&](Engine& engine) {
        EXPECT_EQ(engine.size(), ranks());
        EXPECT_LT(engine.rank(), ranks());
        std::vector<float> one = {1.0f};
        const TensorView view{one.data(), DType::kFloat32, Shape{1}};
        engine.Wait(engine.Allreduce("one", {view.data, view.dtype, view.shape}, view,
                                     {.op = ReduceOp::kSum}));
        EXPECT_EQ(one[0], static_cast<float>(ranks()));
      },
      WithServers(servers()));
}

// Group after group, and several at once, over the same servers.
TEST_P(ServersTest, ServeAnyNumberOfGroups) {
  RunLocal(
      ranks(),
      [&](Engine& engine) {
        std::vector<double> first;
        {
          Trainer trainer(engine, PushPull({{"compressor", "topk"}, {"k", "0.1"}}));
          trainer.Steps(2);
          first = trainer.applied();
        }
        Trainer again(engine, PushPull({{"compressor", "topk"}, {"k", "0.1"}}));
        again.Steps(2);
        EXPECT_EQ(again.applied(), first);
      },
      WithServers(servers()));
}

INSTANTIATE_TEST_SUITE_P(Sizes, ServersTest,
                         testing::Combine(testing::Values(1, 2, 3), testing::Values(1, 2, 3)));

TEST(Servers, ThatNothingCameToAreSpokenOf) {
  for (const bool used : {false, true}) {
    testing::internal::CaptureStderr();
    RunLocal(
        2,
        [&](Engine& engine) {
          const Options plain = {{"compressor", "dense"}};
          Trainer(engine, used ? PushPull(plain) : plain).Steps(1);
          // Whoever of the two leaves first.
          engine.Shutdown();
          engine.Shutdown();
        },
        WithServers(1));
    const std::string log = testing::internal::GetCapturedStderr();
    const std::string said = "no gradient went to the summation servers";
    EXPECT_EQ(log.find(said) != std::string::npos, !used) << log;
    EXPECT_EQ(log.find(said), log.rfind(said)) << log;
  }
}

TEST(Servers, AGroupThatTakesMoreToDescribeThanTheyTakeInIsRefused) {
  Settings settings;
  settings.servers = 1;
  RunLocal(
      2,
      [](Engine& engine) {
        const std::string name(server_messages::kMostControlBytes, 'n');
        EXPECT_THAT(TextOf<InvalidArgument>([&] {
                      engine.Register({.name = "g",
                                       .tensors = {{.name = name, .shape = kShape}},
                                       .compression = PushPull({{"compressor", "dense"}})});
                    }),
                    HasSubstr("the gradient group 'g' takes"));
        Trainer(engine, PushPull({{"compressor", "dense"}})).Steps(1);
      },
      settings);
}

TEST(Servers, ServeTheWholeJobAlone) {
  RunLocal(
      2,
      [](Engine& engine) {
        const std::vector<int> ranks = {0};
        const int set = engine.AddProcessSet(ranks);
        if (engine.rank() != 0) return;
        EXPECT_THAT(TextOf<InvalidArgument>([&] {
                      engine.Register({.name = "g",
                                       .tensors = {{.name = "w", .shape = kShape}},
                                       .compression = PushPull({{"compressor", "dense"}}),
                                       .process_set = set});
                    }),
                    HasSubstr("are for gradients of the whole job"));
      },
      WithServers(1));
}

std::string SavedBy(Trainer& trainer) {
  std::ostringstream out;
  trainer.group().Save(out);
  return out.str();
}

void Load(Trainer& trainer, const std::string& state) {
  std::istringstream in(state);
  std::istream* const files[] = {&in};
  trainer.group().Load(files);
}

// State that ranks kept as servers is left out.
TEST(Servers, AStateIsLoadedBeforeTheFirstStep) {
  const Options topk = PushPull({{"compressor", "topk"}, {"k", "0.1"}, {"ef", "vanilla"}});
  const auto saved = Results(RunLocal, 2, [&](Engine& engine) {
    Trainer trainer(engine, topk);
    trainer.Steps(3);
    return SavedBy(trainer);
  });
  RunLocal(
      2,
      [&](Engine& engine) {
        Trainer trainer(engine, topk);
        Load(trainer, saved.at(engine.rank()));
        EXPECT_EQ(trainer.group().next_step(), 3);
        trainer.Steps(1);
        const std::string now = SavedBy(trainer);
        EXPECT_THAT(TextOf<InvalidArgument>([&] { Load(trainer, now); }),
                    HasSubstr("load before the first step"));
        trainer.Steps(1);
      },
      WithServers(1));
}

TEST(Servers, WhatWasSavedBesideThemIsLoadedWithoutThem) {
  const Options topk = PushPull({{"compressor", "topk"}, {"k", "0.1"}, {"ef", "vanilla"}});
  const auto saved = Results(
      RunLocal, 2,
      [&](Engine& engine) {
        Trainer trainer(engine, topk);
        trainer.Steps(3);
        return SavedBy(trainer);
      },
      WithServers(2));
  RunLocal(2, [&](Engine& engine) {
    Trainer trainer(engine, topk);
    Load(trainer, saved.at(engine.rank()));
    trainer.Steps(1);
    EXPECT_EQ(trainer.group().next_step(), 4);
  });
}

// Ranks that have joined push empty frames.
TEST(Servers, GoOnForThoseWhoHaveNotJoined) {
  RunLocal(
      3,
      [&](Engine& engine) {
        Trainer trainer(engine, PushPull({{"compressor", "dense"}}));
        trainer.Steps(engine.rank() + 1);
        engine.Join();
        for (std::size_t i = 0; i < kElements; ++i) {
          double expected = 0.0;
          for (int s = 0; s <= engine.rank(); ++s) {
            for (int r = s; r < 3; ++r) expected += GradientOf(r, s, i) / 3.0;
          }
          EXPECT_NEAR(trainer.applied()[i], expected, 1e-4) << i;
        }
      },
      WithServers(2));
}

}  // namespace
}  // namespace weir::served
