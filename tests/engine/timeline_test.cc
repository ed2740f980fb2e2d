// A timeline can begin and end while the job runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "metrics/rank_path.h"
#include "tests/engine/job.h"
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

INSTANTIATE_TEST_SUITE_P(Ranks, Timelines, testing::ValuesIn(JobSizes()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir
