// A person's view of a job under weirrun: the metrics and the timeline of every rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/free_ports.h"
#include "tests/launcher/launched_job.h"
#include "tests/metrics/prometheus/promtool.h"
#include "tests/metrics/prometheus/scrape_sum.h"
#include "tests/paths.h"
#include "tests/read_file.h"

namespace weir::launcher {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;

constexpr int kRanks = 3;
constexpr int kSteps = 30;
// As in DgcOptions: dense before, and between them less and less dense.
constexpr int kWarmUpBegins = 2;
constexpr int kWarmUpEnds = 12;

/// The names in the table of docs/reference/monitoring.md.
std::set<std::string> DocumentedMetrics() {
  const std::string page = ReadFile(TreePath("docs/reference/monitoring.md"));
  std::set<std::string> names;
  const std::regex cell("\\| (`weir_[^|]*) \\|");
  const std::regex name("weir_[a-z_]+");
  for (std::sregex_iterator i(page.begin(), page.end(), cell), end; i != end; ++i) {
    const std::string text = (*i)[1];
    for (std::sregex_iterator j(text.begin(), text.end(), name); j != end; ++j)
      names.insert(j->str());
  }
  return names;
}

/// One job for all tests here.
class Observation : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = std::filesystem::path(testing::TempDir()) / ("observed." + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    LaunchedJob job(
        {"-np", std::to_string(kRanks), "--metrics-port", std::to_string(FreePorts(kRanks)),
         "--timeline-filename", folder / "run.json", "--timeline-mark-cycles",
         BuildPath("bin/observed_rank"), std::to_string(kSteps), folder},
        {{"WEIR_METRICS_PER_TENSOR", "1"}});
    exit_code = job.ExitCode();
    output = job.output();
  }
  // Here and not above: tests of a suite that could not be set up would count as skipped.
  void SetUp() override { ASSERT_EQ(exit_code, 0) << output; }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder); }

  static std::string Scrape(int rank) {
    return ReadFile(folder / ("metrics." + std::to_string(rank)));
  }
  static nlohmann::json Timeline(int rank) {
    const std::string name = rank == 0 ? "run.json" : "run.rank" + std::to_string(rank) + ".json";
    return nlohmann::json::parse(ReadFile(folder / name));
  }

  static std::filesystem::path folder;
  static int exit_code;
  static std::string output;
};
std::filesystem::path Observation::folder;
int Observation::exit_code = -1;
std::string Observation::output;

TEST_F(Observation, MetricsOfEveryRankCountWhatHappened) {
  for (int rank = 0; rank < kRanks; ++rank) {
    const std::string scrape = Scrape(rank);
    EXPECT_EQ(Sum(scrape, "weir_world_size"), kRanks);
    EXPECT_EQ(Sum(scrape, "weir_rank_info", "rank=\"" + std::to_string(rank) + "\""), 1);
    EXPECT_EQ(Sum(scrape, "weir_step_duration_seconds_count"), kSteps);
    EXPECT_GT(Sum(scrape, "weir_step_duration_seconds_sum"), 0);
    const double payload = Sum(scrape, "weir_payload_bytes_total", "compressor=\"dgc\"");
    const double dense = Sum(scrape, "weir_dense_equivalent_bytes_total", "compressor=\"dgc\"");
    EXPECT_GT(payload, 0);
    EXPECT_LT(payload, dense);
    // Ranks of one host, whose steps gather; nothing travels that is for nothing.
    for (const std::string metric : {"weir_bytes_sent_total", "weir_bytes_received_total"}) {
      EXPECT_GT(Sum(scrape, metric, "link=\"intra\",op=\"allgather\""), 0);
      EXPECT_GT(Sum(scrape, metric, "op=\"negotiation\""), 0);
      EXPECT_EQ(Sum(scrape, metric, "link=\"intra\""), Sum(scrape, metric));
      EXPECT_EQ(Sum(scrape, metric, "op=\"other\""), 0);
    }
    const double exchanges = Sum(scrape, "weir_collectives_total", "result=\"ok\"");
    EXPECT_GE(exchanges, kSteps);
    EXPECT_EQ(Sum(scrape, "weir_stage_duration_seconds_count", "stage=\"exchange\""), exchanges);
    EXPECT_EQ(Sum(scrape, "weir_collectives_total", "result=\"error\""), 0);
    EXPECT_GE(Sum(scrape, "weir_negotiation_rounds_total", "path=\"slow\""), 1);
    EXPECT_GE(Sum(scrape, "weir_negotiation_rounds_total", "path=\"fast\""), 1);
    EXPECT_NEAR(Sum(scrape, "weir_target_density_ratio"), 0.01, 1e-6);
    EXPECT_EQ(Sum(scrape, "weir_aborts_total"), 0);
    EXPECT_EQ(Sum(scrape, "weir_records_lost_total"), 0);
  }
}

TEST_F(Observation, TheRunPageKnowsTheJobAndWhoSetWhat) {
  const auto page = nlohmann::json::parse(ReadFile(folder / "run.2"));
  EXPECT_EQ(page["rank"], 2);
  EXPECT_EQ(page["size"], kRanks);
  EXPECT_EQ(page["hosts"], nlohmann::json::array({{{"host", "localhost"}, {"ranks", kRanks}}}));
  EXPECT_THAT(page["network"].get<std::string>(), testing::StartsWith("MPI ("));
  const auto& settings = page["settings"];
  EXPECT_EQ(settings["WEIR_METRICS_PORT"]["source"], "--metrics-port");
  EXPECT_EQ(settings["WEIR_METRICS_PER_TENSOR"]["source"], "WEIR_METRICS_PER_TENSOR");
  EXPECT_EQ(settings["WEIR_CYCLE_TIME"]["source"], "default");
}

TEST_F(Observation, EveryDocumentedMetricIsThere) {
  std::set<std::string> documented = DocumentedMetrics();
  EXPECT_GT(documented.size(), 20u);
  for (int rank = 0; rank < kRanks; ++rank) {
    const std::string scrape = Scrape(rank);
    for (const std::string& name : documented) {
      EXPECT_THAT(scrape, HasSubstr("# TYPE " + name + " ")) << "on rank " << rank;
    }
  }
}

TEST_F(Observation, PromtoolFindsNothingToCriticise) {
  for (int rank = 0; rank < kRanks; ++rank) EXPECT_EQ(PromtoolComplaints(Scrape(rank)), "");
}

TEST_F(Observation, TimelinesShowEveryStageOfEveryStep) {
  for (int rank = 0; rank < kRanks; ++rank) {
    std::map<int, std::set<std::string>> by_step;
    std::set<std::string> all;
    for (const nlohmann::json& event : Timeline(rank)) {
      all.insert(event.at("name"));
      if (event.at("ph") != "X") continue;
      EXPECT_EQ(event.at("pid"), rank);
      EXPECT_GE(event.at("dur").get<double>(), 0.0);
      EXPECT_TRUE(event.at("args").at("ok").get<bool>()) << event;
      by_step[event.at("args").at("step")].insert(event.at("name").get<std::string>());
    }
    EXPECT_TRUE(all.contains("CYCLE_START"));
    for (int step = 0; step < kSteps; ++step) {
      std::set<std::string> expected = {"STEP", "QUEUE"};
      if (step < kWarmUpBegins) {
        expected.merge(std::set<std::string>{"MEMCPY_IN_FUSION_BUFFER", "NEGOTIATE_ALLREDUCE",
                                             "ALLREDUCE", "MEMCPY_OUT_FUSION_BUFFER"});
        EXPECT_FALSE(by_step[step].contains("ALLGATHER")) << step;
      } else {
        expected.insert("COMPRESS");
      }
      if (step >= kWarmUpEnds) {
        expected.merge(std::set<std::string>{"NEGOTIATE_ALLGATHER", "ALLGATHER", "MERGE"});
        EXPECT_FALSE(by_step[step].contains("ALLREDUCE")) << step;
      }
      EXPECT_THAT(by_step[step], IsSupersetOf(expected)) << "rank " << rank << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace weir::launcher
