#include "coordinator/plan/plan_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/coordinator/groups/written_plans.h"
#include "weir/error.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class PlanFiles : public testing::Test {
 protected:
  ~PlanFiles() override { std::filesystem::remove(path_); }

  /// Writes plans as a job does, each with its first step.
  void Write(int ranks, const std::vector<PlannedForms>& plans) const {
    PlanFile file(path_);
    for (PlannedForms plan : plans) {
      plan.ranks = ranks;
      file.Add("model", plan);
    }
  }
  std::vector<std::string> Pinned(int ranks) const {
    std::vector<std::string> found;
    for (const PlannedForms& plan : PlanFile(path_).PinnedOf("model", ranks)) {
      found.push_back(std::to_string(plan.from_step) + plan.forms);
    }
    return found;
  }

  const std::string path_ = testing::TempDir() + "plan-file-" + std::to_string(getpid()) + ".json";
};

TEST_F(PlanFiles, WhatWasChosenIsFollowed) {
  Write(4, {{.from_step = 3, .forms = "cc"}, {.from_step = 9, .forms = "cd", .settled = true}});
  EXPECT_THAT(Pinned(4), ElementsAre("3cc", "9cd"));
  EXPECT_THAT(Pinned(2), IsEmpty());
}

TEST_F(PlanFiles, WhatWasOnlyTriedIsNot) {
  Write(4, {{.from_step = 3, .forms = "cc", .settled = true}, {.from_step = 9, .forms = "dd"}});
  EXPECT_THAT(Pinned(4), IsEmpty());
}

TEST_F(PlanFiles, AResumedJobWritesOverWhatItPlansAgain) {
  Write(4, {{.from_step = 3, .forms = "cc"}, {.from_step = 9, .forms = "hh"}});
  Write(4, {{.from_step = 7, .forms = "dd", .settled = true}});
  EXPECT_THAT(Pinned(4), ElementsAre("3cc", "7dd"));
}

/// They may have forms that the job's ranks cannot have.
TEST_F(PlanFiles, PlansForOtherNumbersOfRanksAreDropped) {
  Write(4, {{.from_step = 3, .forms = "pp", .settled = true}});
  Write(2, {{.from_step = 1000, .forms = "dd", .settled = true}});
  EXPECT_THAT(Pinned(2), ElementsAre("1000dd"));
  EXPECT_THAT(Pinned(4), IsEmpty());
}

TEST(PlanFile, MixedPlansAreNotFollowed) {
  const WrittenPlans mixed(R"({"model": [{"from_step": 3, "forms": "pp", "ranks": 4},
                                         {"from_step": 9, "forms": "dd", "ranks": 2}]})");
  const PlanFile file(mixed.settings().plan_filename);
  EXPECT_THAT(file.PinnedOf("model", 2), IsEmpty());
  EXPECT_THAT(file.PinnedOf("model", 4), IsEmpty());
}

}  // namespace
}  // namespace weir
