// A step that is dropped leaves no trace: a training with dropped steps between its own has the
// updates and the saved states, bit for bit, of one without. Nor does a step change what belongs to
// a tensor that no rank has used. For each compressor that keeps anything between steps, on each of
// its routes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/coordinator/groups/group_steps.h"
#include "tests/coordinator/jobs/job_on_hosts.h"
#include "tests/coordinator/jobs/keeping_cases.h"
#include "tests/coordinator/jobs/kept.h"
#include "weir/error.h"

namespace weir::dropped_steps_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int kSteps = 6;
constexpr int kContributors = 3;

/// The cases of nothing lost, and what else changes its memory in a step.
std::vector<KeepingCase> Cases() {
  std::vector<KeepingCase> cases = KeepingCases();
  const auto add = [&cases](const char* name, const CompressionOptions& options) {
    cases.push_back({.name = name, .options = options});
  };
  add("plain", {});
  add("signum", {{"compressor", "signum"}, {"momentum_mu", "0.9"}});
  add("powersgd", {{"compressor", "powersgd"}, {"rank", "2"}, {"min_elements", "1"}});
  add("dithering", {{"compressor", "dithering"}, {"k", "4"}, {"min_elements", "1"}});
  const CompressionOptions dgc = {{"compressor", "dgc"}, {"density", "0.1"}};
  const auto dgc_with = [&](const char* name, CompressionOptions more) {
    more.insert(dgc.begin(), dgc.end());
    add(name, more);
  };
  dgc_with("warm_up", {{"rampup_begin_step", "2"}, {"warmup_steps", "2"}, {"min_elements", "1"}});
  dgc_with("small_tensors", {{"momentum", "vanilla"}, {"min_elements", "100"}});
  dgc_with("adam", {{"momentum", "adam"}, {"beta1", "0.9"}, {"beta2", "0.99"}});
  dgc_with("bf16_state", {{"state_dtype", "bf16"}, {"min_elements", "1"}});
  dgc_with("clipped", {{"clip_norm", "1"}, {"min_elements", "1"}});
  dgc_with("skipping", {{"skip_nonfinite", "true"}, {"min_elements", "1"}});
  return cases;
}

class DroppedSteps : public testing::TestWithParam<KeepingCase> {};

/// Hands over some of the gradients, and drops the step, perhaps when it is over.
void Drop(GradientGroup& group, Tensors gradients, std::mt19937& random, bool is_over) {
  const float rate = 7.0f;
  for (auto& gradient : gradients) {
    for (float& value : gradient) value *= 1000.0f;
  }
  gradients[0][3] = std::numeric_limits<float>::infinity();
  group.BeginStep({.learning_rates = std::span(&rate, 1), .undoable = true});
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (random() % 3 == 0) continue;
    const TensorView view{gradients[i].data(), DType::kFloat32, Shapes()[i]};
    group.Submit(i, view, view);
  }
  if (is_over) {
    group.EndStep();
    group.WaitStep();
  }
  group.DropStep();
}

struct Seen {
  Tensors updates;
  std::string state;
  friend bool operator==(const Seen&, const Seen&) = default;
};

std::vector<Seen> Train(Engine& engine, const KeepingCase& what, bool drops, unsigned seed) {
  const auto group = engine.Register(SpecOf(what.options));
  std::mt19937 of_rank(seed + static_cast<unsigned>(engine.rank()));
  std::mt19937 of_all(seed);
  std::vector<Seen> seen;
  for (int step = 0; step < kSteps; ++step) {
    for (unsigned i = of_all() % 3; drops && i > 0; --i) {
      Drop(*group, GradientOf(engine.rank(), 50 + step), of_rank, of_all() % 2 == 0);
      EXPECT_EQ(group->next_step(), step);
    }
    Seen now{.updates = Step(*group, GradientOf(engine.rank(), step))};
    std::ostringstream saved;
    group->Save(saved);
    now.state = saved.str();
    seen.push_back(std::move(now));
  }
  return seen;
}

TEST_P(DroppedSteps, LeaveNoTrace) {
  const KeepingCase& what = GetParam();
  const int ranks = kContributors * what.ranks_per_contributor;
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  JobOnHosts job(ranks, what.ranks_per_contributor);
  job.Run(
      [&](Engine& engine) {
        const std::vector<Seen> plain = Train(engine, what, /*drops=*/false, seed);
        const std::vector<Seen> dropping = Train(engine, what, /*drops=*/true, seed);
        for (int step = 0; step < kSteps; ++step) {
          const auto i = static_cast<std::size_t>(step);
          EXPECT_TRUE(plain[i].updates == dropping[i].updates) << "updates of step " << step;
          EXPECT_TRUE(plain[i].state == dropping[i].state) << "state after step " << step;
        }
      },
      {});
}

INSTANTIATE_TEST_SUITE_P(All, DroppedSteps, testing::ValuesIn(Cases()),
                         [](const auto& made) { return made.param.name; });

/// Takes a step in which this rank has no gradient of the last tensor. Returns the updates, and
/// which tensors no rank had.
std::pair<Tensors, std::vector<std::size_t>> StepWithoutLast(GradientGroup& group,
                                                             Tensors gradients) {
  const float rate = 0.1f;
  Tensors updates = gradients;
  const std::size_t last = gradients.size() - 1;
  group.BeginStep({.learning_rates = std::span(&rate, 1)});
  for (std::size_t i = 0; i < last; ++i) {
    group.Submit(i, {gradients[i].data(), DType::kFloat32, Shapes()[i]},
                 {updates[i].data(), DType::kFloat32, Shapes()[i]});
  }
  group.EndStep();
  std::vector<std::size_t> unused = group.UnusedByAll();
  group.WaitStep();
  return {updates, unused};
}

Kept KeptOfLast(const GradientGroup& group) {
  std::ostringstream saved;
  group.Save(saved);
  const std::size_t last = Shapes().size() - 1;
  return KeptOf(saved.str(), "p" + std::to_string(last),
                static_cast<std::size_t>(Shapes()[last].elements()));
}

TEST_P(DroppedSteps, ATensorThatNoRankHasUsedIsLeftAlone) {
  const KeepingCase& what = GetParam();
  JobOnHosts job(kContributors * what.ranks_per_contributor, what.ranks_per_contributor);
  job.Run(
      [&](Engine& engine) {
        const auto group = engine.Register(SpecOf(what.options));
        for (int step = 0; step < kSteps; ++step) {
          EXPECT_TRUE(SameAsRankZero(engine, Step(*group, GradientOf(engine.rank(), step))));
          const Kept before = KeptOfLast(*group);
          const auto [updates, unused] =
              StepWithoutLast(*group, GradientOf(engine.rank(), 10 + step));
          EXPECT_THAT(unused, testing::ElementsAre(updates.size() - 1));
          EXPECT_TRUE(KeptOfLast(*group) == before) << "step " << step;
        }
      },
      {});
}

TEST_P(DroppedSteps, ATensorThatOneRankHasUsedCountsAsZeroOnTheOthers) {
  const KeepingCase& what = GetParam();
  JobOnHosts job(kContributors * what.ranks_per_contributor, what.ranks_per_contributor);
  job.Run(
      [&](Engine& engine) {
        const auto lacking = engine.Register(SpecOf(what.options, "lacking"));
        const auto zeros = engine.Register(SpecOf(what.options, "zeros"));
        for (int step = 0; step < kSteps; ++step) {
          Tensors gradients = GradientOf(engine.rank(), step);
          if (engine.rank() == 1) {
            Step(*lacking, gradients);
          } else {
            EXPECT_THAT(StepWithoutLast(*lacking, gradients).second, testing::IsEmpty());
            std::ranges::fill(gradients.back(), 0.0f);
          }
          Step(*zeros, gradients);
          EXPECT_TRUE(KeptOfLast(*lacking) == KeptOfLast(*zeros)) << "step " << step;
        }
      },
      {});
}

TEST(DropStep, NeedsAnUndoableStep) {
  RunLocal(1, [](Engine& engine) {
    const auto group = engine.Register(SpecOf({}));
    EXPECT_THROW(group->DropStep(), InvalidArgument);
    group->BeginStep({});
    EXPECT_THROW(group->DropStep(), InvalidArgument);
    group->EndStep();
    group->WaitStep();
  });
}

TEST(DropStep, WhatARankAsksAfterwardsIsNotAnsweredByTheDroppedTry) {
  RunLocal(3, [](Engine& engine) {
    const auto group = engine.Register(SpecOf({}));
    Tensors gradients = GradientOf(engine.rank(), 0);
    const auto submit = [&] {
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        const TensorView view{gradients[i].data(), DType::kFloat32, Shapes()[i]};
        group->Submit(i, view, view);
      }
    };
    group->BeginStep({.undoable = true});
    submit();
    group->EndStep();
    group->WaitStep();
    group->DropStep();
    // The same step again. Rank 1 has no gradient and asks, before the others begin.
    if (engine.rank() != 1) engine.Wait(engine.Barrier("asked"));
    group->BeginStep({.undoable = true});
    if (engine.rank() == 0) submit();
    group->EndStep();
    if (engine.rank() == 1) engine.Wait(engine.Barrier("asked"));
    EXPECT_THAT(group->UnusedByAll(), testing::IsEmpty());
    group->WaitStep();
  });
}

TEST(DropStep, WhereOneRankTakesTheStepAllHearOfIt) {
  RunLocal(3, [](Engine& engine) {
    const auto group = engine.Register(SpecOf({}));
    Tensors gradients = GradientOf(engine.rank(), 0);
    try {
      for (int pass = 0; pass < 2; ++pass) {
        group->BeginStep({.undoable = true});
        for (std::size_t i = 0; i < gradients.size(); ++i) {
          const TensorView view{gradients[i].data(), DType::kFloat32, Shapes()[i]};
          group->Submit(i, view, view);
        }
        if (pass == 0 && engine.rank() == 1) {
          group->DropStep();
        } else {
          group->EndStep();
          group->WaitStep();
        }
      }
      ADD_FAILURE() << "nobody complained";
    } catch (const Mismatch& error) {
      EXPECT_THAT(error.what(),
                  AllOf(HasSubstr("rank 1 has dropped step 0 of 'model'"), HasSubstr("takes it")));
    }
  });
}

}  // namespace
}  // namespace weir::dropped_steps_test
