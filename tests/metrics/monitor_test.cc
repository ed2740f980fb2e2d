#include "metrics/monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "common/clock.h"
#include "metrics/files/rank_path.h"
#include "tests/metrics/http/http_get.h"
#include "tests/metrics/prometheus/promtool.h"
#include "tests/paths.h"
#include "tests/read_file.h"
#include "tests/temporary_folder.h"
#include "weir/error.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kMillisecond = 1'000'000;

/// A port that was free a moment ago.
int FreePort() { return HttpServer({}, {}).port(); }

class MonitorTest : public ::testing::Test {
 protected:
  MonitorTest() {
    names_.Add({.name = "allreduce.conv1", .compressor = "dgc"});
    names_.Add({.name = "conv1", .compressor = "dgc", .elements = 1000});
    settings_.metrics_port = FreePort();
  }

  void AddStep(std::int64_t step) {
    const std::int64_t t = step * 10 * kMillisecond;
    const auto add = [&](Stage stage, std::int64_t from, std::int64_t to, std::uint64_t bytes_in,
                         std::uint64_t bytes_out) {
      recorder_.Add({.start_ns = t + from * kMillisecond,
                     .end_ns = t + to * kMillisecond,
                     .step = step,
                     .bytes_in = bytes_in,
                     .bytes_out = bytes_out,
                     .bucket = 0,
                     .density = 0.01f,
                     .threshold = 0.5f,
                     .stage = stage});
    };
    add(Stage::kQueue, 0, 1, 0, 0);
    add(Stage::kPack, 1, 2, 4000, 4000);
    add(Stage::kNegotiate, 1, 3, 0, 0);
    add(Stage::kCompress, 2, 3, 4000, 60);
    add(Stage::kExchange, 3, 6, 60, 4000);
    add(Stage::kMerge, 6, 7, 60, 4000);
    add(Stage::kUnpack, 7, 8, 4000, 4000);
    recorder_.Add({.start_ns = t,
                   .end_ns = t + 8 * kMillisecond,
                   .step = step,
                   .bytes_in = 4000,
                   .bytes_out = 60,
                   .bucket = 1,
                   .density = 0.01f,
                   .threshold = 0.5f,
                   .stage = Stage::kGradient});
    add(Stage::kStep, 0, 9, 0, 0);
  }

  std::unique_ptr<Monitor> Start() {
    return std::make_unique<Monitor>(settings_, info_, recorder_, names_, gauges_);
  }

  Settings settings_;
  RunInfo info_{.rank = 3, .size = 4, .local_rank = 0, .host = "node\"1"};
  Recorder recorder_;
  BucketNames names_;
  EngineGauges gauges_;
};

TEST_F(MonitorTest, AScrapeShowsWhatWasRecordedBeforeIt) {
  const auto monitor = Start();
  for (int step = 0; step < 5; ++step) AddStep(step);
  gauges_.traffic_of(TrafficOp::kAllgather).sent[0] = 300;
  gauges_.traffic_of(TrafficOp::kNegotiation).received[1] = 8;
  gauges_.CountAbort(AbortReason::kCorrupt);
  gauges_.credit_bytes = 77;
  gauges_.last_heard.SetPeers(4);
  gauges_.last_heard.Note(3);  // Itself.
  gauges_.last_heard.Note(1);
  gauges_.SetTargetDensity("default", 0.001);
  const HttpReply reply = HttpGet(monitor->port(), "/metrics");
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.headers, HasSubstr("text/plain; version=0.0.4"));
  for (const char* line : {
           "weir_world_size 4\n",
           "weir_rank_info{rank=\"3\",local_rank=\"0\",host=\"node\\\"1\"} 1\n",
           "weir_step_duration_seconds_count 5\n",
           "weir_bytes_sent_total{link=\"intra\",op=\"allgather\"} 300\n",
           "weir_bytes_received_total{link=\"inter\",op=\"negotiation\"} 8\n",
           "weir_credit_bytes{stage=\"exchange\"} 77\n",
           "weir_payload_bytes_total{compressor=\"dgc\"} 300\n",
           "weir_dense_equivalent_bytes_total{compressor=\"dgc\"} 20000\n",
           "weir_aborts_total{reason=\"corrupt\"} 1\n",
           "weir_target_density_ratio{group=\"default\"} 0.001\n",
       }) {
    EXPECT_THAT(reply.body, HasSubstr(line));
  }
  const std::string heard = "\nweir_peer_last_heartbeat_timestamp_seconds{peer=\"";
  EXPECT_THAT(reply.body, AllOf(HasSubstr(heard + "1\"} "), Not(HasSubstr(heard + "0")),
                                Not(HasSubstr(heard + "3"))));
  EXPECT_THAT(reply.body, HasSubstr("\nprocess_open_fds "));
}

TEST_F(MonitorTest, InLargeJobsPeersHaveNoSeries) {
  gauges_.last_heard.SetPeers(257);
  gauges_.last_heard.Note(1);
  EXPECT_THAT(HttpGet(Start()->port(), "/metrics").body, Not(HasSubstr("last_heartbeat")));
}

TEST_F(MonitorTest, RunShowsEverySettingAndItsSource) {
  settings_ = Settings::FromEnvironment({{"HOROVOD_CYCLE_TIME", "2.5"},
                                         {"WEIR_METRICS_PORT", std::to_string(FreePort())},
                                         {"WEIR_METRICS_TOKEN", "hunter2"},
                                         {"WEIR_BATCH_SIZE", "32"},
                                         {"WEIR_TIMELINE", ""}});
  info_.hosts = "a:2,b:3";
  const auto monitor = Start();
  const HttpReply reply = HttpGet(monitor->port(), "/run", "Authorization: Bearer hunter2");
  EXPECT_THAT(reply.headers, HasSubstr("Content-Type: application/json"));
  EXPECT_THAT(reply.body, testing::Not(HasSubstr("hunter2")));
  const auto page = nlohmann::json::parse(reply.body);
  EXPECT_EQ(page["rank"], 3);
  EXPECT_EQ(page["size"], 4);
  EXPECT_EQ(page["host"], "node\"1");
  EXPECT_EQ(page["hosts"], nlohmann::json::parse(R"([{"host": "a", "ranks": 2},
                                                     {"host": "b", "ranks": 3}])"));
  const auto& settings = page["settings"];
  EXPECT_EQ(settings["WEIR_CYCLE_TIME"]["value"], "2.5");
  EXPECT_EQ(settings["WEIR_CYCLE_TIME"]["source"], "HOROVOD_CYCLE_TIME");
  EXPECT_EQ(settings["WEIR_BATCH_SIZE"]["value"], "32");
  EXPECT_EQ(settings["WEIR_CACHE_CAPACITY"]["source"], "default");
  EXPECT_EQ(settings["WEIR_METRICS_TOKEN"]["value"], "(not shown)");
  EXPECT_EQ(settings.size(), settings_.Entries().size());
  EXPECT_EQ(HttpGet(monitor->port(), "/run").status, 401);
}

TEST_F(MonitorTest, RankZeroListsTheTargetsOfAllRanksIfItKnowsThem) {
  EXPECT_EQ(HttpGet(Start()->port(), "/targets").status, 404) << "rank 3";
  info_.rank = 0;
  EXPECT_EQ(HttpGet(Start()->port(), "/targets").status, 503);
  info_.hosts = "a:2,b:2";
  const HttpReply reply = HttpGet(Start()->port(), "/targets");
  EXPECT_THAT(reply.headers, HasSubstr("Content-Type: application/json"));
  EXPECT_EQ(nlohmann::json::parse(reply.body).size(), 4u);
}

TEST_F(MonitorTest, RankZeroSaysWhatIsStalledAndForHowLong) {
  EXPECT_EQ(HttpGet(Start()->port(), "/stalls").status, 404) << "rank 3";
  info_.rank = 0;
  const auto monitor = Start();
  const auto stalls = [&] {
    return nlohmann::json::parse(HttpGet(monitor->port(), "/stalls").body);
  };
  EXPECT_EQ(stalls()["tensors"], nlohmann::json::array());
  const std::int64_t since_ns = NowNs() - 12'000 * kMillisecond;
  gauges_.SetStalls(
      {.tensors = {{.name = "w\xff", .since_ns = since_ns, .missing = {1, 3}}}, .left_out = 2});
  const auto said = stalls();
  EXPECT_EQ(said["left_out"], 2);
  ASSERT_EQ(said["tensors"].size(), 1u);
  const auto& tensor = said["tensors"][0];
  EXPECT_EQ(tensor["name"], "w\xEF\xBF\xBD");
  EXPECT_EQ(tensor["process_set"], 0);
  EXPECT_EQ(tensor["missing_ranks"], nlohmann::json({1, 3}));
  EXPECT_NEAR(tensor["waited_seconds"],
              static_cast<double>(said["time_ns"].get<std::int64_t>() - since_ns) * 1e-9, 1e-6);
}

TEST_F(MonitorTest, PlansAreAPageOfTextAndBlocksOfTheLog) {
  const auto monitor = Start();
  gauges_.plans.Note({.group = "model", .from_step = 3, .settled = false, .why = "tries dense"});
  gauges_.plans.Note({.group = "model", .from_step = 9, .why = "dgc: it takes less"});
  EXPECT_EQ(HttpGet(monitor->port(), "/plan").body, "model: since step 9, dgc: it takes less\n");
  // The block that describes the run is there at once; those of the plans come when they are
  // written.
  std::string log;
  for (std::uint64_t after = 0; log.find("it takes less") == std::string::npos; ++after) {
    HttpGet(monitor->port(), "/log?wait=10&after=" + std::to_string(after));
    log = HttpGet(monitor->port(), "/log?after=0").body;
  }
  EXPECT_THAT(log, AllOf(HasSubstr(R"("kind":"plans","rank":3)"), HasSubstr("tries dense")));
  EXPECT_EQ(log.find("tries dense"), log.rfind("tries dense"));
}

TEST_F(MonitorTest, TheFirstPageIsForPeople) {
  const HttpReply reply = HttpGet(Start()->port(), "/");
  EXPECT_THAT(reply.headers, HasSubstr("Content-Type: text/html"));
  EXPECT_THAT(reply.body, HasSubstr("Rank 3 of 4 on node&quot;1"));
}

TEST_F(MonitorTest, ARunThatNobodyLaunchedHasNoHosts) {
  const auto monitor = Start();
  EXPECT_FALSE(nlohmann::json::parse(HttpGet(monitor->port(), "/run").body).contains("hosts"));
}

TEST_F(MonitorTest, PromtoolFindsNothingToCriticise) {
  settings_.metrics_per_tensor = true;
  const auto monitor = Start();
  AddStep(0);
  recorder_.Add({.stage = Stage::kExchange, .ok = false});
  gauges_.traffic_of(TrafficOp::kAllgather).sent[0] = 1;
  gauges_.last_heard.SetPeers(2);
  gauges_.last_heard.Note(1);
  gauges_.SetTargetDensity("default", 0.001);
  EXPECT_EQ(PromtoolComplaints(HttpGet(monitor->port(), "/metrics").body), "");
}

TEST_F(MonitorTest, EveryMetricIsInTheReference) {
  settings_.metrics_per_tensor = true;
  const auto monitor = Start();
  AddStep(0);
  gauges_.SetTargetDensity("default", 0.001);
  gauges_.traffic_of(TrafficOp::kAllgather).sent[0] = 1;
  gauges_.traffic_of(TrafficOp::kAllgather).received[0] = 1;
  gauges_.last_heard.SetPeers(2);
  gauges_.last_heard.Note(1);
  const std::string page = ReadFile(TreePath("docs/reference/monitoring.md"));
  std::istringstream body(HttpGet(monitor->port(), "/metrics").body);
  int metrics = 0;
  for (std::string hash, kind, name, rest; body >> hash >> kind >> name; std::getline(body, rest)) {
    if (hash != "#" || kind != "TYPE") continue;
    EXPECT_THAT(page, HasSubstr("`" + name + "`"));
    ++metrics;
  }
  EXPECT_GT(metrics, 20);
}

TEST_F(MonitorTest, APortInUseIsAnErrorThatNamesIt) {
  const HttpServer other({}, {});
  settings_.metrics_port = other.port() - 1;
  info_.local_rank = 1;
  try {
    Start();
    FAIL() << "no error";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("rank 3"), HasSubstr("local rank 1"),
                                    HasSubstr("127.0.0.1:" + std::to_string(other.port())),
                                    HasSubstr("another program")));
  }
}

TEST_F(MonitorTest, AnAddressThatIsNoneIsRefused) {
  settings_.metrics_address = "999.1.1.1";
  EXPECT_THAT([&] { Start(); }, testing::ThrowsMessage<InvalidArgument>(HasSubstr("999.1.1.1")));
}

TEST_F(MonitorTest, WithoutAPortNothingListens) {
  settings_.metrics_port = 0;
  EXPECT_EQ(Start()->port(), 0);
}

TEST_F(MonitorTest, TheTimelineHasWhatWasRecordedBetweenStartAndStop) {
  const TemporaryFolder folder;
  const std::string path = folder / "run.json";
  const auto monitor = Start();
  AddStep(0);
  monitor->StartTimeline(path, true);
  EXPECT_TRUE(monitor->marks_cycles());
  AddStep(1);
  monitor->StopTimeline();
  EXPECT_FALSE(monitor->marks_cycles());
  AddStep(2);
  std::ifstream file(RankPath(path, 3));
  int exchanges = 0;
  for (const auto& event : nlohmann::json::parse(file)) {
    if (event["name"] != "ALLREDUCE") continue;
    ++exchanges;
    EXPECT_EQ(event["args"]["step"], 1);
  }
  EXPECT_EQ(exchanges, 1);
}

TEST_F(MonitorTest, ATimelineThatCannotBeWrittenIsAnErrorThatNamesIt) {
  const auto monitor = Start();
  try {
    monitor->StartTimeline("/nonexistent/timeline.json", false);
    FAIL() << "no error";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nonexistent/timeline.rank3.json"));
  }
}

TEST_F(MonitorTest, ATimelineReplacesNothingButFiles) {
  info_.rank = 0;
  const auto monitor = Start();
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT([&] { monitor->StartTimeline(pipe, false); },
              testing::ThrowsMessage<InvalidArgument>(HasSubstr(pipe + ": it exists already")));
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

}  // namespace
}  // namespace weir
