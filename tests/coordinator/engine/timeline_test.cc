// A timeline can begin and end while the job runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "metrics/files/rank_path.h"
#include "tests/coordinator/jobs/job.h"
#include "tests/temporary_folder.h"

namespace weir {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class Timelines : public testing::TestWithParam<int> {
 protected:
  int ranks() const { return GetParam(); }
};

void SumOne(Engine& engine, const std::string& name) {
  float value = 1.0f;
  const TensorView view{&value, DType::kFloat32, Shape{1}};
  engine.Wait(engine.Allreduce(name, view, view));
}

/// The names of a rank's tracks and events.
std::set<std::string> NamesIn(const std::string& path, int rank) {
  std::ifstream file(RankPath(path, rank));
  std::set<std::string> names;
  for (const auto& event : nlohmann::json::parse(file)) {
    const std::string name = event.at("name");
    names.insert(name == "thread_name" ? event.at("args").at("name").get<std::string>() : name);
  }
  return names;
}

TEST_P(Timelines, HaveWhatIsDoneBetweenStartAndStop) {
  const TemporaryFolder folder;
  const std::string path = folder / "run.json";
  const auto names = Results(RunJob, ranks(), [&](Engine& engine) {
    engine.StopTimeline();  // None is written.
    SumOne(engine, "before");
    engine.StartTimeline(path, true);
    SumOne(engine, "seen");
    engine.StopTimeline();
    SumOne(engine, "after");
    return NamesIn(path, engine.rank());
  });
  for (const auto& [rank, seen] : names) {
    EXPECT_THAT(seen, Contains("seen"));
    EXPECT_THAT(seen, Contains("NEGOTIATE_ALLREDUCE"));
    EXPECT_THAT(seen, Contains("CYCLE_START"));
    EXPECT_THAT(seen, Not(Contains("before")));
    EXPECT_THAT(seen, Not(Contains("after")));
  }
}

TEST_P(Timelines, ThatCannotBeWrittenLeaveTheJobAsItIs) {
  RunJob(ranks(), [&](Engine& engine) {
    EXPECT_THAT([&] { engine.StartTimeline("/nonexistent/t.json"); },
                testing::ThrowsMessage<InvalidArgument>(HasSubstr("/nonexistent/t")));
    SumOne(engine, "x");
  });
}

/// The tracks of a rank's events, by number.
std::map<int, std::string> TracksOf(const nlohmann::json& events) {
  std::map<int, std::string> tracks;
  for (const auto& event : events) {
    if (event.at("name") == "thread_name") tracks[event.at("tid")] = event.at("args").at("name");
  }
  return tracks;
}

TEST(Timeline, EndsTheStepOfAProgramThatWentOnWhenItsResultsWereThere) {
  const TemporaryFolder folder;
  const std::string path = folder / "run.json";
  RunLocal(1, [&](Engine& engine) {
    engine.StartTimeline(path);
    const auto group =
        engine.Register({.name = "g", .tensors = {{.name = "w", .shape = Shape{1}}}});
    float value = 1.0f;
    group->BeginStep({});
    engine.Wait(
        group->Submit(0, {&value, DType::kFloat32, Shape{1}}, {&value, DType::kFloat32, Shape{1}}));
    group->EndStep();
    group->WaitInStream(nullptr);
    SumOne(engine, "later");
    group->WaitStep();
    engine.StopTimeline();
  });
  std::ifstream file(RankPath(path, 0));
  const auto events = nlohmann::json::parse(file);
  const auto tracks = TracksOf(events);
  std::optional<double> step_end;
  std::optional<double> later;
  for (const auto& event : events) {
    if (event.at("ph") != "X") continue;
    const double start = event.at("ts");
    if (event.at("name") == "STEP") step_end = start + event.at("dur").get<double>();
    if (tracks.at(event.at("tid")) == "later") later = std::min(later.value_or(start), start);
  }
  ASSERT_TRUE(step_end && later);
  EXPECT_LE(*step_end, *later);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Timelines, testing::ValuesIn(JobSizes()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir
