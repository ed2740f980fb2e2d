#include "metrics/trace/timeline.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>

#include "metrics/files/rank_path.h"
#include "tests/temporary_folder.h"

namespace weir {
namespace {

using nlohmann::json;

json ParseFile(const std::string& path) {
  std::ifstream file(path);
  return json::parse(file);
}

TEST(RankPath, RankZeroHasTheFileAndTheOthersTheirRankInIt) {
  EXPECT_EQ(RankPath("a/run.json", 0), "a/run.json");
  EXPECT_EQ(RankPath("a/run.json", 3), "a/run.rank3.json");
  EXPECT_EQ(RankPath("run", 12), "run.rank12");
}

TEST(Timeline, UsesHorovodsNamesAndATrackPerBucket) {
  const TemporaryFolder folder;
  const std::string path = folder / "run.json";
  BucketNames names;
  names.Add({});
  names.Add({.name = "allgather.\"x\"\xff", .routes = {{}, {"allgather", "gather"}}});
  {
    Timeline timeline(path, {.rank = 0, .size = 2, .host = "a"}, names, true);
    for (int i = 0; i < kStageCount; ++i) {
      timeline.Add({.start_ns = 1500,
                    .end_ns = 4000,
                    .step = 7,
                    .bytes_in = 10,
                    .bytes_out = 20,
                    .bucket = 1,
                    .threshold = std::numeric_limits<float>::infinity(),
                    .stage = static_cast<Stage>(i),
                    .route = 1});
    }
  }
  std::map<std::string, json> events;
  std::set<std::string> tracks;
  for (const json& event : ParseFile(path)) {
    if (event["name"] == "thread_name") tracks.insert(event["args"]["name"].get<std::string>());
    events[event["name"]] = event;
  }
  EXPECT_TRUE(tracks.contains("allgather.\"x\"\uFFFD"));
  for (const char* name : {"QUEUE", "NEGOTIATE_ALLGATHER", "MEMCPY_IN_FUSION_BUFFER", "COMPRESS",
                           "ALLGATHER", "MERGE", "MEMCPY_OUT_FUSION_BUFFER", "STEP"}) {
    ASSERT_TRUE(events.contains(name)) << name;
    EXPECT_EQ(events[name]["ph"], "X");
    EXPECT_EQ(events[name]["ts"], 1.5);
    EXPECT_EQ(events[name]["dur"], 2.5);
    EXPECT_EQ(events[name]["args"]["step"], 7);
  }
  EXPECT_EQ(events["CYCLE_START"]["ph"], "i");
  EXPECT_EQ(events["ALLGATHER"]["tid"], events["QUEUE"]["tid"]);
  EXPECT_NE(events["NEGOTIATE_ALLGATHER"]["tid"], events["QUEUE"]["tid"]);
  EXPECT_TRUE(events["ALLGATHER"]["args"]["threshold"].is_null());
}

TEST(Timeline, AnEventIsCalledAfterTheRouteOfItsRecord) {
  const TemporaryFolder folder;
  const std::string path = folder / "run.json";
  BucketNames names;
  names.Add({.name = "conv", .routes = {{}, {"allgather", "gather"}}});
  {
    Timeline timeline(path, {}, names, false);
    for (int step = 0; step < 4; ++step) {
      const auto route = static_cast<std::uint8_t>(step % 2);
      timeline.Add({.step = step, .stage = Stage::kExchange, .route = route});
    }
  }
  int events = 0;
  for (const json& event : ParseFile(path)) {
    if (event["ph"] != "X") continue;
    EXPECT_EQ(event["name"], event["args"]["step"].get<int>() % 2 == 0 ? "ALLREDUCE" : "ALLGATHER");
    ++events;
  }
  EXPECT_EQ(events, 4);
}

TEST(Timeline, CyclesAreMarkedOnlyWhenAsked) {
  const TemporaryFolder folder;
  const std::string path = folder / "run.json";
  BucketNames names;
  { Timeline(path, {}, names, false).Add({.stage = Stage::kRound}); }
  for (const json& event : ParseFile(path)) EXPECT_NE(event["name"], "CYCLE_START");
}

// The writer publishes far more often than it would in a job; the reader opens the file as fast as
// it can. Every text it ever sees must parse and never be shorter than one seen before.
TEST(Timeline, IsValidJsonWheneverItIsOpened) {
  const TemporaryFolder folder;
  const std::string path = folder / "run.json";
  BucketNames names;
  names.Add({});
  auto timeline = std::make_unique<Timeline>(path, RunInfo{}, names, false);
  std::jthread writer([&](const std::stop_token& stop) {
    std::int64_t now_ns = 0;
    for (std::int64_t i = 0; !stop.stop_requested(); ++i) {
      timeline->Add({.start_ns = i, .end_ns = i + 1, .stage = Stage::kExchange});
      if (i % 16 == 0) timeline->Flush(now_ns += 2'000'000'000);
    }
  });
  constexpr std::size_t kGrown = 2000;
  std::size_t events_seen = 0;
  while (events_seen < kGrown) {
    json events;
    ASSERT_NO_THROW(events = ParseFile(path)) << "after " << events_seen << " events";
    ASSERT_GE(events.size(), events_seen);
    events_seen = events.size();
  }
  writer = {};  // Stops and joins.
  timeline.reset();
  EXPECT_GE(ParseFile(path).size(), events_seen);
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
}

}  // namespace
}  // namespace weir
