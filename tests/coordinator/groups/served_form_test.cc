// Buckets that a plan sends by way of the ranks as servers: what they have not answered is never
// lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "coordinator/plan/group_plan.h"
#include "coordinator/plan/served_state.h"
#include "tests/coordinator/groups/group_steps.h"
#include "tests/coordinator/groups/written_plans.h"
#include "tests/coordinator/jobs/job.h"

namespace weir::served_form_test {
namespace {

using testing::HasSubstr;
using testing::Not;

const Options kServedAtTimes = {{"compressor", "dgc"},    {"density", "0.02"},
                                {"min_elements", "100"},  {"values", "fp16"},
                                {"momentum", "nesterov"}, {"alternatives", "dense,push_pull"}};

TEST(ServedForm, AStateHasWhatServersHaveNotAnswered) {
  const WrittenPlans plans(
      R"({"model": [{"from_step": 3, "forms": "pp"}, {"from_step": 6, "forms": "cc"},
                                     {"from_step": 8, "forms": "dd"}]})");
  for (const int ranks : JobSizesFrom(3)) {
    RunJob(
        ranks,
        [&](Engine& engine) {
          std::stringstream state;
          std::vector<Tensors> expected;
          {
            const auto group = engine.Register(SpecOf(kServedAtTimes));
            for (int step = 0; step < 6; ++step) Step(*group, GradientOf(engine.rank(), step));
            group->Save(state);
            for (int step = 6; step < 9; ++step) {
              expected.push_back(Step(*group, GradientOf(engine.rank(), step)));
            }
            std::ostringstream later;
            group->Save(later);
            EXPECT_THAT(later.str(), Not(HasSubstr(ServedName("p0"))));
          }
          // The first three ranks have a tensor each.
          const std::string served = state.str();
          int here = 0;
          for (const char* name : {"p0", "p1", "p2"}) {
            here += served.find(ServedName(name)) != std::string::npos ? 1 : 0;
          }
          std::vector<float> everywhere = {static_cast<float>(here)};
          engine.Wait(engine.Allreduce("served", ViewOf(std::span(everywhere)),
                                       ViewOf(std::span(everywhere)), {.op = ReduceOp::kSum}));
          EXPECT_EQ(everywhere.front(), 3.0f);
          // A new group does not serve, and sends it itself.
          const auto group = engine.Register(SpecOf(kServedAtTimes));
          std::istream* const streams[] = {&state};
          group->Load(streams);
          for (int step = 6; step < 9; ++step) {
            EXPECT_EQ(Step(*group, GradientOf(engine.rank(), step)),
                      expected[static_cast<std::size_t>(step - 6)])
                << "step " << step;
          }
        },
        plans.settings());
  }
}

TEST(ServedForm, AGroupGoesOnWhileItIsServed) {
  const WrittenPlans plans(R"({"model": [{"from_step": 2, "forms": "pp"}]})");
  for (const int ranks : JobSizesFrom(3)) {
    RunJob(
        ranks,
        [&](Engine& engine) {
          const auto group = engine.Register(SpecOf(kServedAtTimes));
          for (int step = 0; step < 4; ++step) Step(*group, GradientOf(engine.rank(), step));
          std::stringstream state;
          group->Save(state);
          std::vector<Tensors> expected;
          for (int step = 4; step < 6; ++step) {
            expected.push_back(Step(*group, GradientOf(engine.rank(), step)));
            EXPECT_TRUE(SameAsRankZero(engine, expected.back()));
          }
          std::istream* const streams[] = {&state};
          group->Load(streams);
          for (const Tensors& updates : expected) {
            const int step = 4 + static_cast<int>(&updates - expected.data());
            EXPECT_EQ(Step(*group, GradientOf(engine.rank(), step)), updates) << "step " << step;
          }
        },
        plans.settings());
  }
}

std::vector<int> ServersOf(const std::vector<std::size_t>& elements, int servers) {
  std::vector<Partition> partitions;
  for (const std::size_t n : elements) partitions.push_back({.elements = n});
  return BalancedServers(partitions, servers);
}

TEST(ServedForm, RanksServeAboutAsManyEntries) {
  EXPECT_EQ(ServersOf({1, 100, 40, 30, 30}, 2), (std::vector<int>{0, 0, 1, 1, 1}));
  EXPECT_EQ(ServersOf({5, 5, 5}, 4), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(ServersOf({7, 8}, 1), (std::vector<int>{0, 0}));
}

}  // namespace
}  // namespace weir::served_form_test
