// A file of plans that a job follows.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/coordinator/groups/group_steps.h"
#include "tests/coordinator/groups/written_plans.h"
#include "tests/coordinator/jobs/job.h"
#include "weir/error.h"

namespace weir::pinned_plans_test {
namespace {

/// A group that is loaded follows the file at once, as the one that was saved did.
TEST(PinnedPlans, HoldFromTheStepThatAStateIsLoadedOf) {
  const WrittenPlans plans(
      R"({"model": [{"from_step": 2, "forms": "hh"}, {"from_step": 5, "forms": "dd"}]})");
  const Options options = {{"compressor", "dgc"},
                           {"density", "0.05"},
                           {"min_elements", "100"},
                           {"alternatives", "dense,fp16"}};
  for (const int ranks : JobSizesFrom(2)) {
    RunJob(
        ranks,
        [&](Engine& engine) {
          std::vector<Tensors> expected;
          std::stringstream state;
          const auto group = engine.Register(SpecOf(options));
          for (int step = 0; step < 7; ++step) {
            if (step == 3) group->Save(state);
            expected.push_back(Step(*group, GradientOf(engine.rank(), step)));
          }
          std::istream* const streams[] = {&state};
          group->Load(streams);
          for (int step = 3; step < 7; ++step) {
            EXPECT_EQ(Step(*group, GradientOf(engine.rank(), step)),
                      expected[static_cast<std::size_t>(step)])
                << "step " << step << ", of the group that was saved";
          }
        },
        plans.settings());
    RunJob(
        ranks,
        [&](Engine& engine) {
          std::vector<Tensors> expected;
          std::stringstream state;
          {
            const auto saved = engine.Register(SpecOf(options));
            for (int step = 0; step < 7; ++step) {
              if (step == 3) saved->Save(state);
              expected.push_back(Step(*saved, GradientOf(engine.rank(), step)));
            }
          }
          const auto group = engine.Register(SpecOf(options));
          std::istream* const streams[] = {&state};
          group->Load(streams);
          for (int step = 3; step < 7; ++step) {
            EXPECT_EQ(Step(*group, GradientOf(engine.rank(), step)),
                      expected[static_cast<std::size_t>(step)])
                << "step " << step << ", of a new group";
          }
        },
        plans.settings());
  }
}

/// All ranks hear of a file that does not suit, and the engine goes on.
TEST(PinnedPlans, ThatOptionsDoNotAllowAreRefused) {
  const WrittenPlans plans(R"({"model": [{"from_step": 2, "forms": "hh"}]})");
  const Options options = {{"compressor", "dgc"}, {"alternatives", "dense"}};
  for (const int ranks : JobSizes()) {
    RunJob(
        ranks,
        [&](Engine& engine) {
          try {
            engine.Register(SpecOf(options));
            FAIL() << "was taken";
          } catch (const InvalidArgument& error) {
            EXPECT_EQ(engine.rank(), 0);
            EXPECT_NE(std::string(error.what()).find("alternatives"), std::string::npos)
                << error.what();
          } catch (const Mismatch& error) {
            EXPECT_NE(engine.rank(), 0);
            EXPECT_NE(std::string(error.what()).find("file of plans"), std::string::npos)
                << error.what();
          }
          const auto other = engine.Register(SpecOf(options, "other"));
          EXPECT_TRUE(SameAsRankZero(engine, Step(*other, GradientOf(engine.rank(), 0))));
        },
        plans.settings());
  }
}

}  // namespace
}  // namespace weir::pinned_plans_test
