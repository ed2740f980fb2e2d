// Searches for plans in whole jobs, whatever the ranks do meanwhile.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/coordinator/groups/group_steps.h"
#include "tests/coordinator/jobs/job.h"

namespace weir::plan_search_test {
namespace {

const Options kAuto = {{"compressor", "auto"},
                       {"choices", "dense,fp16,dgc"},
                       {"density", "0.05"},
                       {"min_elements", "100"}};

/// Tells all ranks whether rank 0 has chosen for so many groups.
bool HaveChosen(Engine& engine, int groups) {
  const std::string why = engine.Explain();
  std::int64_t chosen = 0;
  for (std::size_t at = 0; (at = why.find(", chosen", at)) != std::string::npos; ++at) ++chosen;
  engine.Wait(engine.Broadcast("chosen", {&chosen, DType::kInt64, Shape{1}}, 0));
  return chosen == groups;
}
constexpr int kSearch = 24;       // Steps in which one begins, and tries all that it will.
constexpr int kMostTries = 2000;  // Steps; a busy machine makes searches long.

/// Ranks may begin steps of several groups in an order of their own: the search waits for nobody.
TEST(PlanSearch, EndsInWhateverOrderGroupsBegin) {
  for (const int ranks : JobSizesFrom(2)) {
    RunJob(ranks, [&](Engine& engine) {
      std::vector<std::unique_ptr<GradientGroup>> groups;
      for (const char* name : {"a", "b"}) groups.push_back(engine.Register(SpecOf(kAuto, name)));
      std::vector<std::size_t> order = {0, 1};
      if (engine.rank() % 2 == 1) std::ranges::reverse(order);
      Tensors updates[2];
      bool chosen = false;
      for (int step = 0; step < kMostTries && !chosen; ++step) {
        Tensors gradients = GradientOf(engine.rank(), step);
        const float rate = 0.1f;
        for (const std::size_t g : order) {
          updates[g] = gradients;
          groups[g]->BeginStep({.learning_rates = std::span(&rate, 1)});
          for (std::size_t i = 0; i < gradients.size(); ++i) {
            groups[g]->Submit(i, {gradients[i].data(), DType::kFloat32, Shapes()[i]},
                              {updates[g][i].data(), DType::kFloat32, Shapes()[i]});
          }
          groups[g]->EndStep();
        }
        for (const auto& group : groups) group->WaitStep();
        if (step % 10 == 9) chosen = HaveChosen(engine, 2);
      }
      EXPECT_TRUE(chosen) << engine.Explain();
      for (const Tensors& of_group : updates) EXPECT_TRUE(SameAsRankZero(engine, of_group));
      EXPECT_EQ(engine.Explain().empty(), engine.rank() != 0);
    });
  }
}

/// A rank joins in each of the steps of a search, the others go on: also the one that plans.
TEST(PlanSearch, EndsWhileRanksJoin) {
  for (const int ranks : JobSizesFrom(2)) {
    RunJob(ranks, [&](Engine& engine) {
      const auto group = engine.Register(SpecOf(kAuto));
      for (int leave = 1; leave < kSearch; ++leave) {
        const int steps = engine.rank() == leave % ranks ? leave : kSearch;
        for (int step = 0; step < steps; ++step) Step(*group, GradientOf(engine.rank(), step));
        engine.Join();
      }
      for (int tries = 0; tries < kMostTries / 10 && !HaveChosen(engine, 1); ++tries) {
        for (int step = 0; step < 10; ++step) Step(*group, GradientOf(engine.rank(), step));
      }
      EXPECT_TRUE(HaveChosen(engine, 1)) << engine.Explain();
    });
  }
}

/// A state that is loaded in each of the steps of a search, when plans are under way.
TEST(PlanSearch, EndsAfterAStateWasLoaded) {
  for (const int ranks : JobSizesFrom(2)) {
    RunJob(ranks, [&](Engine& engine) {
      const auto group = engine.Register(SpecOf(kAuto));
      for (int before = 1; before < kSearch; ++before) {
        std::ostringstream saved;
        group->Save(saved);
        for (int step = 0; step < before; ++step) Step(*group, GradientOf(engine.rank(), step));
        std::istringstream again(saved.str());
        std::istream* const states[] = {&again};
        group->Load(states);
      }
      for (int tries = 0; tries < kMostTries / 10 && !HaveChosen(engine, 1); ++tries) {
        for (int step = 0; step < 10; ++step) Step(*group, GradientOf(engine.rank(), step));
      }
      EXPECT_TRUE(HaveChosen(engine, 1)) << engine.Explain();
    });
  }
}

}  // namespace
}  // namespace weir::plan_search_test
