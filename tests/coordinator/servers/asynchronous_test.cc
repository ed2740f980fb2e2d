// Training without waiting for each other (max_staleness) on whole local jobs. The distance of
// ranks is tested in staleness_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <tuple>

#include "coordinator/engine/local_job.h"
#include "tests/coordinator/jobs/job.h"
#include "tests/coordinator/jobs/text_of.h"
#include "tests/coordinator/servers/served_training.h"
#include "weir/error.h"

namespace weir::served {
namespace {

using testing::HasSubstr;

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

class AsynchronousServers : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(AsynchronousServers, BringEachContributionToEveryRankOnce) {
  const auto [ranks, servers] = GetParam();
  for (const std::int64_t staleness : {1, 3}) {
    SCOPED_TRACE(staleness);
    RunLocal(
        ranks, [&](Engine& engine) { ExpectEverythingArrives(engine, staleness); },
        WithServers(servers));
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, AsynchronousServers,
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
                HasSubstr("has an effect only with route=push_pull"));
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
  settings.timeout_seconds = 2;
  RunLocal(
      2,
      [&](Engine& engine) {
        Trainer trainer(engine, PushPull({{"compressor", "dense"}, {"max_staleness", "2"}}));
        // Not to wait for the other rank: to take longer than the timeout.
        if (engine.rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(3));
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

}  // namespace
}  // namespace weir::served
