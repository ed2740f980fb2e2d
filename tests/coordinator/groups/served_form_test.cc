// Buckets that a plan sends by way of the ranks as servers: what they have not answered is never
// lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <sstream>
#include <string>
#include <utility>
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

const Options kByServers = {{"compressor", "dgc"},    {"density", "0.02"},
                            {"min_elements", "100"},  {"values", "fp16"},
                            {"momentum", "nesterov"}, {"route", "push_pull"}};

/// What a job still owes of each tensor's mean, by its ranks' states: what ranks have not sent, and
/// what those that serve have not answered.
std::vector<double> OwedBy(const std::vector<std::string>& states) {
  std::vector<double> owed(Shapes().size());
  for (const std::string& text : states) {
    for (const SavedArray& array : Deserialize(std::as_bytes(std::span(text))).arrays) {
      if (array.name != "velocity") continue;
      double sum = 0.0;
      for (const float x : array.values) sum += x;
      for (std::size_t t = 0; t < owed.size(); ++t) {
        const std::string name = "p" + std::to_string(t);
        if (array.tensor == name) owed[t] += sum / static_cast<double>(states.size());
        if (array.tensor == ServedName(name)) owed[t] += sum;
      }
    }
  }
  return owed;
}

/// Runs a job that begins with states, takes steps, and returns its own.
std::vector<std::string> StatesOf(int ranks, const Options& options, const Settings& settings,
                                  const std::vector<std::string>& former, bool adopts, int steps) {
  const auto states = Results(
      RunJob, ranks,
      [&](Engine& engine) {
        const auto group = engine.Register(SpecOf(options));
        const auto rank = static_cast<std::size_t>(engine.rank());
        if (adopts) {
          std::istringstream one(former.front());
          group->Adopt(one);
        } else if (std::cmp_equal(former.size(), ranks)) {
          std::istringstream own(former[rank]);
          std::istream* const files[] = {&own};
          group->Load(files);
        } else if (!former.empty()) {
          std::vector<std::istringstream> streams;
          for (const std::string& text : former) streams.emplace_back(text);
          std::vector<std::istream*> files;
          for (std::istringstream& stream : streams) files.push_back(&stream);
          group->Load(files);
        }
        for (int step = 0; step < steps; ++step) Step(*group, GradientOf(engine.rank(), step));
        std::ostringstream saved;
        group->Save(saved);
        return saved.str();
      },
      settings);
  std::vector<std::string> by_rank;
  for (const auto& [rank, state] : states) by_rank.push_back(state);
  return by_rank;
}

/// Whoever serves after a load, whichever the form: a job of as many ranks, of fewer and of more
/// owes what was owed before.
TEST(ServedForm, ALoadLosesNothingWhoeverServes) {
  if (JobSizes().size() == 1) return;  // The ranks of several jobs are those of this process.
  const WrittenPlans served(R"({"model": [{"from_step": 2, "forms": "pp"}]})");
  const WrittenPlans not_served(R"({"model": [{"from_step": 2, "forms": "cc"}]})", "other");
  for (const Options& options : {kServedAtTimes, kByServers}) {
    const auto saved = StatesOf(4, options, served.settings(), {}, false, 6);
    const std::vector<double> owed = OwedBy(saved);
    for (const Options& loading : {kServedAtTimes, kByServers}) {
      for (const WrittenPlans* plans : {&served, &not_served}) {
        for (const int ranks : {4, 3, 6}) {
          const auto loaded = StatesOf(ranks, loading, plans->settings(), saved, false, 0);
          const std::vector<double> now = OwedBy(loaded);
          for (std::size_t t = 0; t < owed.size(); ++t) {
            // Those that have left owe as much to the ranks that stay.
            EXPECT_NEAR(now[t], owed[t], 1e-4 * std::max(1.0, std::abs(owed[t])))
                << ranks << " ranks, tensor " << t << (loading == kByServers ? ", by servers" : "")
                << (options == kByServers ? ", from servers" : "");
          }
        }
      }
    }
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

/// A large tensor would keep its one server busy alone.
TEST(ServedForm, PartsOfATensorHaveServersOfTheirOwn) {
  const WrittenPlans plans(R"({"model": [{"from_step": 2, "forms": "pp"}]})");
  Options options = kServedAtTimes;
  options["partition_bytes"] = "4000";
  for (const int ranks : JobSizesFrom(3)) {
    RunJob(
        ranks,
        [&](Engine& engine) {
          const auto group = engine.Register(SpecOf(options));
          for (int step = 0; step < 4; ++step) {
            EXPECT_TRUE(SameAsRankZero(engine, Step(*group, GradientOf(engine.rank(), step))));
          }
          std::ostringstream state;
          group->Save(state);
          int parts = 0;
          for (const char* name : {"p0#0", "p0#1", "p0#2", "p0#3", "p2#0", "p2#1", "p2#2"}) {
            parts += state.str().find(ServedName(name)) != std::string::npos ? 1 : 0;
          }
          EXPECT_GE(parts, 1);
          EXPECT_LE(parts, 3);
        },
        plans.settings());
  }
}

}  // namespace
}  // namespace weir::served_form_test
