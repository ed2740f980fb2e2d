// Summation servers of their own (weirrun --servers) and training without waiting for each other
// (max_staleness), on whole local jobs. What one bucket does is in
// tests/coordinator/served_bucket_test.cc, how far ranks get apart in staleness_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "coordinator/local_job.h"
#include "tests/engine/job.h"
#include "tests/engine/text_of.h"
#include "weir/error.h"

namespace weir {
namespace {

using testing::HasSubstr;
using Options = std::map<std::string, std::string>;

const Shape kShape{7, 43};
constexpr std::size_t kElements = 7 * 43;

float GradientOf(int rank, std::int64_t step, std::size_t i) {
  const std::size_t seed = 7 * static_cast<std::size_t>(rank) + 13 * static_cast<std::size_t>(step);
  return static_cast<float>((i * 31 + seed * 17) % 101) / 8.0f - 6.0f;
}

Settings WithServers(int servers) {
  Settings settings;
  settings.servers = servers;
  return settings;
}

Options PushPull(Options options) {
  options["route"] = "push_pull";
  options.try_emplace("partition_bytes", "200");
  const std::string compressor = options.at("compressor");
  const bool whole_arrays = compressor == "dense" || compressor == "fp16" || compressor == "bf16";
  if (!whole_arrays) options.try_emplace("min_elements", "1");
  return options;
}

/// A matrix and a vector on one rank; `applied` sums what came of it.
class Trainer {
 public:
  Trainer(Engine& engine, const Options& compression, const std::string& name = "g")
      : engine_(engine),
        group_(engine.Register({.name = name,
                                .tensors = {{.name = "w", .shape = kShape},
                                            {.name = "b", .shape = Shape{5}, .parameter_group = 1}},
                                .compression = compression})) {}

  /// Steps with gradients; with zeros where `silent`.
  void Steps(std::int64_t count, bool silent = false) {
    for (std::int64_t s = 0; s < count; ++s) {
      Begin(silent);
      group_->WaitStep();
      for (std::size_t i = 0; i < kElements; ++i) applied_[i] += update_[i];
    }
  }
  Handle Begin(bool silent = false) {
    for (std::size_t i = 0; i < kElements; ++i) {
      gradient_[i] = silent ? 0.0f : GradientOf(engine_.rank(), group_->next_step(), i);
    }
    const float rate = group_->next_step() < 3 ? 0.1f : 0.05f;
    const float rates[] = {rate, 2.0f * rate};
    group_->BeginStep({.learning_rates = rates});
    const Handle handle = group_->Submit(0, {gradient_.data(), DType::kFloat32, kShape},
                                         {update_.data(), DType::kFloat32, kShape});
    group_->EndStep();
    return handle;
  }
  void Wait() { group_->WaitStep(); }
  GradientGroup& group() { return *group_; }
  const std::vector<double>& applied() const { return applied_; }

 private:
  Engine& engine_;
  std::vector<float> gradient_ = std::vector<float>(kElements);
  std::vector<float> update_ = std::vector<float>(kElements);
  std::vector<double> applied_ = std::vector<double>(kElements);
  std::unique_ptr<GradientGroup> group_;
};

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

/// With zeros for as many steps as a rank may be ahead, everything that was pushed has reached
/// everybody: each contribution once.
void ExpectEverythingArrives(Engine& engine, std::int64_t staleness) {
  constexpr std::int64_t kSteps = 20;
  Trainer trainer(
      engine, PushPull({{"compressor", "dense"}, {"max_staleness", std::to_string(staleness)}}));
  trainer.Steps(kSteps);
  trainer.Steps(staleness + 1, /*silent=*/true);
  for (std::size_t i = 0; i < kElements; ++i) {
    double sum = 0.0;
    for (int r = 0; r < engine.size(); ++r) {
      for (std::int64_t s = 0; s < kSteps; ++s) sum += GradientOf(r, s, i);
    }
    EXPECT_NEAR(trainer.applied()[i], sum / engine.size(), 1e-3) << i;
  }
}

TEST_P(ServersTest, WithoutWaitingEveryRankReceivesEachContributionOnce) {
  for (const std::int64_t staleness : {1, 3}) {
    SCOPED_TRACE(staleness);
    RunLocal(
        ranks(), [&](Engine& engine) { ExpectEverythingArrives(engine, staleness); },
        WithServers(servers()));
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ServersTest,
                         testing::Combine(testing::Values(1, 2, 3), testing::Values(1, 2, 3)));

TEST(Asynchronous, RanksServeEachOtherWithoutServersOfTheirOwn) {
  for (const int ranks : {1, 2, 4}) {
    SCOPED_TRACE(ranks);
    RunLocal(ranks, [](Engine& engine) { ExpectEverythingArrives(engine, 2); });
  }
}

TEST(Asynchronous, WhatAllRanksWouldDecideTogetherIsRefused) {
  RunLocal(1, [](Engine& engine) {
    for (const auto& [key, value] :
         Options{{"clip_norm", "1"}, {"skip_nonfinite", "true"}, {"policy", "never"}}) {
      Options options =
          PushPull({{"compressor", "topk"}, {"k", "3"}, {"ef", "vanilla"}, {"max_staleness", "2"}});
      options[key] = value;
      EXPECT_THAT(TextOf<InvalidArgument>([&] { Trainer(engine, options); }),
                  HasSubstr("leave one of them out"))
          << key;
    }
    EXPECT_THAT(TextOf<InvalidArgument>([&] {
                  Trainer(engine, {{"compressor", "topk"}, {"k", "3"}, {"max_staleness", "2"}});
                }),
                HasSubstr("means something with route=push_pull only"));
  });
}

// A server empties a rank's box with every answer.
TEST(Asynchronous, ACompressorThatForgetsEntriesIsRefused) {
  RunLocal(1, [](Engine& engine) {
    for (Options options : {Options{{"compressor", "topk"}}, Options{{"compressor", "randomk"}},
                            Options{{"compressor", "threshold"}, {"threshold", "0.5"}}}) {
      options.insert({{"route", "push_pull"}, {"max_staleness", "2"}, {"min_elements", "1"}});
      EXPECT_THAT(TextOf<InvalidArgument>([&] { Trainer(engine, options); }),
                  HasSubstr("give ef=vanilla"))
          << options["compressor"];
      options["ef"] = "vanilla";
      EXPECT_NO_THROW(Trainer(engine, options)) << options["compressor"];
    }
    EXPECT_NO_THROW(Trainer(engine, PushPull({{"compressor", "onebit"}, {"max_staleness", "2"}})));
  });
}

TEST(Asynchronous, WhoIsDoneWaitsForTheLastLongerThanForAnythingElse) {
  Settings settings;
  settings.timeout_seconds = 1;
  RunLocal(
      2,
      [&](Engine& engine) {
        Trainer trainer(engine, PushPull({{"compressor", "dense"}, {"max_staleness", "2"}}));
        // Not to wait for the other rank: to take longer than the timeout.
        if (engine.rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(2));
        trainer.Steps(2);
      },
      settings);
}

TEST(Asynchronous, NorMayATensorsOwnOptionsAskForIt) {
  RunLocal(1, [](Engine& engine) {
    const Options late = PushPull({{"compressor", "dense"}, {"max_staleness", "1"}});
    EXPECT_THAT(TextOf<InvalidArgument>([&] {
                  engine.Register({.name = "g",
                                   .tensors = {{.name = "w", .shape = kShape},
                                               {.name = "v", .shape = kShape, .compression = late}},
                                   .compression = {{"compressor", "dense"}, {"clip_norm", "1"}}});
                }),
                HasSubstr("max_staleness (of a tensor's own options)"));
  });
}

// The one that goes on could never be answered.
TEST(Asynchronous, WhoEndsEarlyIsNamedToThoseWhoWaitForIt) {
  std::string text;
  EXPECT_THROW(
      RunLocal(
          2,
          [&](Engine& engine) {
            Trainer trainer(engine, PushPull({{"compressor", "dense"}, {"max_staleness", "2"}}));
            try {
              trainer.Steps(engine.rank() == 0 ? 2 : 10);
            } catch (const Error& error) {
              text = error.what();
              throw;
            }
          }),
      Error);
  EXPECT_THAT(text, HasSubstr("waits in step 4 of 'g/b+7' for rank 0, which takes no step after "
                              "step 1 (max_staleness is 2)"));
}

// At once, and of both kinds.
TEST(Asynchronous, GroupsOfBothKindsGoOnSideBySide) {
  RunLocal(2, [](Engine& engine) {
    const Options dense = PushPull({{"compressor", "dense"}});
    Options late = dense;
    late["max_staleness"] = "2";
    Trainer one(engine, dense, "one"), two(engine, late, "two"), three(engine, late, "three");
    for (int step = 0; step < 20; ++step) {
      for (Trainer* trainer : {&one, &two, &three}) trainer->Begin();
      for (Trainer* trainer : {&three, &one, &two}) trainer->Wait();
    }
  });
}

TEST(Asynchronous, NobodyMayJoin) {
  RunLocal(2, [](Engine& engine) {
    Trainer trainer(engine, PushPull({{"compressor", "dense"}, {"max_staleness", "1"}}));
    EXPECT_THAT(TextOf<InvalidArgument>([&] { engine.Join(); }),
                HasSubstr("give all ranks the same number of steps"));
  });
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

// What ranks kept as servers stays behind.
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
}  // namespace weir
