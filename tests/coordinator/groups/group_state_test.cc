// Saved state of a group of gradients: its content, when it is saved, and who loads it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <istream>
#include <sstream>
#include <stdexcept>
#include <streambuf>
#include <string>

#include "tests/coordinator/groups/group_steps.h"

namespace weir {
namespace {

using testing::HasSubstr;

class GroupState : public testing::TestWithParam<int> {};

TEST_P(GroupState, StateCanBeSavedAfterTheEngineHasEndedInAStep) {
  RunLocal(GetParam(), [&](Engine& engine) {
    const auto group = engine.Register(
        SpecOf({{"compressor", "dgc"}, {"momentum", "vanilla"}, {"momentum_mu", "0.9"}}));
    Step(*group, GradientOf(engine.rank(), 0));
    engine.Wait(engine.Barrier());
    group->BeginStep({});
    engine.Shutdown();
    EXPECT_THROW(group->EndStep(), ShutDown);
    std::ostringstream out;
    group->Save(out);
    EXPECT_FALSE(out.str().empty());
  });
}

TEST_P(GroupState, TheVelocityIsWhatWasNotSent) {
  for (const char* route : {"allgather", "push_pull"}) {
    RunLocal(GetParam(), [&](Engine& engine) {
      // Parts of at most 500 elements.
      Options options = {{"compressor", "dgc"}, {"momentum", "none"}, {"density", "0.01"},
                         {"values", "fp32"},    {"route", route},     {"min_elements", "1"}};
      if (std::string(route) == "push_pull") options["partition_bytes"] = "2000";
      const auto group = engine.Register(SpecOf(options));
      const Tensors gradients = GradientOf(engine.rank(), 0);
      Step(*group, gradients);
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        std::vector<float> velocity(gradients[i].size(), 7.0f);
        group->CopyVelocity(i, velocity);
        std::size_t sent = 0;
        for (std::size_t e = 0; e < velocity.size(); ++e) {
          const bool kept = velocity[e] == gradients[i][e];
          EXPECT_TRUE(kept || velocity[e] == 0.0f) << "entry " << e;
          sent += kept ? 0 : 1;
        }
        if (Shapes()[i].rank() == 1) {
          EXPECT_EQ(sent, velocity.size());  // Travels dense.
        } else {
          EXPECT_NEAR(static_cast<double>(sent), 0.01 * static_cast<double>(velocity.size()), 3.0);
        }
      }
      std::vector<float> short_one(3);
      EXPECT_THROW(group->CopyVelocity(0, short_one), InvalidArgument);
      EXPECT_THROW(group->CopyVelocity(99, short_one), InvalidArgument);
    });
  }
}

TEST_P(GroupState, LookingAheadIsNotForGradientsAlone) {
  RunLocal(GetParam(), [&](Engine& engine) {
    try {
      engine.Register(SpecOf({{"compressor", "dgc"}, {"look_ahead", "1"}}));
      ADD_FAILURE() << "accepted";
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(), HasSubstr("belongs to an optimizer that moves the parameters"));
    }
  });
}

TEST_P(GroupState, AStepThatEndedHalfwayCannotBeSaved) {
  Settings settings;
  settings.fusion_threshold_bytes = 0;
  RunLocal(
      GetParam(),
      [&](Engine& engine) {
        const auto group = engine.Register(SpecOf({{"compressor", "dgc"}}));
        const Tensors gradients = GradientOf(engine.rank(), 0);
        Tensors updates = gradients;
        group->BeginStep({});
        engine.Wait(group->Submit(2, {gradients[2].data(), DType::kFloat32, Shapes()[2]},
                                  {updates[2].data(), DType::kFloat32, Shapes()[2]}));
        engine.Wait(engine.Barrier());
        engine.Shutdown();
        EXPECT_THROW(group->EndStep(), ShutDown);
        std::ostringstream out;
        EXPECT_THAT([&] { group->Save(out); },
                    testing::ThrowsMessage<InvalidArgument>(HasSubstr("1 of its 3 buckets")));
        EXPECT_TRUE(out.str().empty());
      },
      settings);
}

/// Returns a group's saved state after so many steps.
std::string SavedAfter(GradientGroup& group, int steps, int rank) {
  for (int step = 0; step < steps; ++step) Step(group, GradientOf(rank, step));
  std::ostringstream out;
  group.Save(out);
  return out.str();
}

void LoadOwn(GradientGroup& group, const std::string& saved) {
  std::istringstream file(saved);
  std::istream* pointer = &file;
  group.Load(std::span<std::istream* const>(&pointer, 1));
}

TEST_P(GroupState, RanksGoOnWithTheSameStepOrLearnThatTheyDoNot) {
  const int last = GetParam() - 1;
  RunLocal(GetParam(), [&](Engine& engine) {
    const auto group = engine.Register(SpecOf({{"compressor", "dgc"}}));
    const std::string early = SavedAfter(*group, 1, engine.rank());
    const std::string late = SavedAfter(*group, 1, engine.rank());
    if (last == 0) return LoadOwn(*group, early);
    try {
      LoadOwn(*group, engine.rank() == last ? early : late);
      ADD_FAILURE() << "loaded";
    } catch (const Mismatch& error) {
      EXPECT_THAT(error.what(),
                  testing::AllOf(HasSubstr("rank 0 has next step=2"), HasSubstr("has next step=1"),
                                 HasSubstr("load states that were saved after the "
                                           "same step")));
    }
    EXPECT_EQ(group->next_step(), 2) << "nothing was changed";
    LoadOwn(*group, early);
    EXPECT_EQ(group->next_step(), 1);
    EXPECT_TRUE(SameAsRankZero(engine, Step(*group, GradientOf(engine.rank(), 1))));
  });
}

TEST_P(GroupState, AStateThatOneRankCannotLoadIsLoadedByNone) {
  const int last = GetParam() - 1;
  RunLocal(GetParam(), [&](Engine& engine) {
    const auto group = engine.Register(SpecOf({{"compressor", "dgc"}}));
    std::string saved = SavedAfter(*group, 1, engine.rank());
    Step(*group, GradientOf(engine.rank(), 1));
    if (engine.rank() == last) {
      EXPECT_THROW(LoadOwn(*group, saved.substr(0, saved.size() / 2)), Corrupt);
    } else {
      EXPECT_THROW(LoadOwn(*group, saved), Mismatch);
    }
    EXPECT_EQ(group->next_step(), 2);
    LoadOwn(*group, saved);
    EXPECT_EQ(group->next_step(), 1);
  });
}

class BrokenDisk : public std::streambuf {
  int_type underflow() override { throw std::runtime_error("the disk is broken"); }
};

TEST_P(GroupState, WhateverAStreamThrowsIsHeardByAllRanks) {
  const int last = GetParam() - 1;
  RunLocal(GetParam(), [&](Engine& engine) {
    const auto group = engine.Register(SpecOf({{"compressor", "dgc"}}));
    const std::string saved = SavedAfter(*group, 1, engine.rank());
    if (engine.rank() == last) {
      BrokenDisk disk;
      std::istream in(&disk);
      std::istream* pointer = &in;
      EXPECT_THAT([&] { group->Load(std::span<std::istream* const>(&pointer, 1)); },
                  testing::ThrowsMessage<std::runtime_error>("the disk is broken"));
    } else {
      EXPECT_THROW(LoadOwn(*group, saved), Mismatch);
    }
    LoadOwn(*group, saved);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, GroupState, testing::Values(1, 2, 3, 4),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir
