#include "plugins/cpp/replicas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tests/plugins/model.h"
#include "weir/engine.h"
#include "weir/error.h"
#include "weir/optimizer.h"

namespace weir::replicas_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// What a rank was told: nothing where all is well.
struct Told {
  std::string text;
  std::vector<int> ranks;
};

/// Compares tensors that `make` gives each rank.
std::vector<Told> Verify(int ranks,
                         const std::function<std::vector<std::vector<float>>(int)>& make) {
  std::vector<Told> told(static_cast<std::size_t>(ranks));
  RunLocal(ranks, [&](Engine& engine) {
    const std::vector<std::vector<float>> tensors = make(engine.rank());
    std::vector<Replica> replicas;
    for (const auto& tensor : tensors) {
      replicas.push_back(
          {"t" + std::to_string(replicas.size()), ChecksumOf(std::as_bytes(std::span(tensor)))});
    }
    try {
      VerifyReplicas(engine, "test", replicas, 7);
    } catch (const Mismatch& error) {
      told[static_cast<std::size_t>(engine.rank())] = {error.what(), error.context().ranks};
    }
  });
  return told;
}

TEST(Replicas, EqualOnesPass) {
  for (const Told& told : Verify(3, [](int) {
         return std::vector<std::vector<float>>{{1, 2, 3}, {}, {-0.5f}};
       })) {
    EXPECT_THAT(told.text, IsEmpty());
  }
}

TEST(Replicas, OneThatDiffersInABitIsNamedWithItsRanks) {
  for (const Told& told : Verify(4, [](int rank) {
         std::vector<std::vector<float>> tensors(3, std::vector<float>(100, 1.0f));
         if (rank == 2) tensors[1][57] = std::nextafter(1.0f, 2.0f);
         return tensors;
       })) {
    EXPECT_THAT(told.text, HasSubstr("after 7 steps"));
    EXPECT_THAT(told.text, HasSubstr("'t1' on [2] is not"));
    EXPECT_THAT(told.ranks, ElementsAre(2));
  }
}

TEST(Replicas, SeveralThatDifferAreCounted) {
  for (const Told& told : Verify(2, [](int rank) {
         return std::vector<std::vector<float>>(3, {static_cast<float>(rank)});
       })) {
    EXPECT_THAT(told.text, HasSubstr("'t0' (and 2 more) on [0, 1]"))
        << "Neither of two has more than half.";
    EXPECT_THAT(told.ranks, ElementsAre(0, 1));
  }
}

TEST(Replicas, RanksThatDifferFromMostInTheirOwnWaysAreNamed) {
  for (const Told& told : Verify(5, [](int rank) {
         return std::vector<std::vector<float>>{{static_cast<float>(rank % 2 == 0 ? 9 : rank)}};
       })) {
    EXPECT_THAT(told.ranks, ElementsAre(1, 3));
  }
}

TEST(Replicas, TheOrderOfValuesCounts) {
  for (const Told& told : Verify(2, [](int rank) {
         return rank == 0 ? std::vector<std::vector<float>>{{1, 2}}
                          : std::vector<std::vector<float>>{{2, 1}};
       })) {
    EXPECT_THAT(told.text, HasSubstr("'t0'"));
  }
}

TEST(Replicas, ARankThatHasJoinedCountsAsEqual) {
  RunLocal(3, [](Engine& engine) {
    if (engine.rank() == 1) {
      engine.Join();
      return;
    }
    const std::vector<float> values = {4, 5};
    const Replica replica{"t", ChecksumOf(std::as_bytes(std::span(values)))};
    EXPECT_NO_THROW(VerifyReplicas(engine, "test", {&replica, 1}, 7));
    engine.Join();
  });
}

/// Takes steps, rank 1 with a parameter changed after the third one; returns the step that fails.
int FailingStep(int every) {
  int failing = -1;
  Settings settings;
  settings.verify_every = every;
  RunLocal(
      2,
      [&](Engine& engine) {
        Model model;
        DistributedOptimizer optimizer(engine, model.Parameters(), {});
        for (int step = 0; step < 9; ++step) {
          try {
            TakeStep(optimizer, model, step, engine.rank());
          } catch (const Mismatch& error) {
            EXPECT_THAT(error.what(), HasSubstr("'bias' on [0, 1]"));
            if (engine.rank() == 0) failing = step;
            return;
          }
          if (step == 2 && engine.rank() == 1) model.Parameters()[1].value[0] += 1.0f;
        }
      },
      settings);
  return failing;
}

TEST(VerifyEvery, FailsTheFirstStepOfThoseThatLook) {
  EXPECT_EQ(FailingStep(3), 3);
  EXPECT_EQ(FailingStep(4), 4);
  EXPECT_EQ(FailingStep(5), 5);
  EXPECT_EQ(FailingStep(0), -1) << "It looks only where it is asked to.";
}

TEST(VerifyEvery, AStepThatWasRefusedMayBeginAgain) {
  Settings settings;
  settings.verify_every = 1;
  RunLocal(
      2,
      [](Engine& engine) {
        Model model;
        DistributedOptimizer optimizer(engine, model.Parameters(), {});
        TakeStep(optimizer, model, 0, engine.rank());
        if (engine.rank() == 0) {
          const std::vector<float> rates(5, 0.1f);
          EXPECT_THROW(optimizer.BeginStep(rates), InvalidArgument);
        }
        TakeStep(optimizer, model, 1, engine.rank());
      },
      settings);
}

TEST(VerifyEvery, IsRefusedWhereRanksDifferByDesign) {
  Settings settings;
  settings.verify_every = 1;
  RunLocal(
      1,
      [](Engine& engine) {
        Model model;
        EXPECT_THROW(DistributedOptimizer(engine, model.Parameters(),
                                          {.compression = {{"compressor", "dense"},
                                                           {"route", "push_pull"},
                                                           {"max_staleness", "2"}}}),
                     InvalidArgument);
      },
      settings);
}

}  // namespace
}  // namespace weir::replicas_test
