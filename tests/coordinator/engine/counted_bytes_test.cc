// Metrics count the same bytes of steps as the steps report, on every route: some make several
// exchanges per run. Ranks are threads here.
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "tests/coordinator/jobs/training.h"
#include "tests/free_ports.h"
#include "tests/metrics/http/http_get.h"
#include "tests/metrics/prometheus/scrape_sum.h"
#include "weir/engine.h"

namespace weir::counted_bytes_test {
namespace {

constexpr int kRanks = 3;
constexpr int kSteps = 6;

struct Kind {
  const char* name;
  Options compression;

  friend void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }
};

Options By(const std::string& route) {
  return {{"compressor", "dgc"}, {"density", "0.01"}, {"policy", "always"}, {"route", route}};
}

/// A rank's metrics once all its steps are counted.
std::string ScrapeAfterSteps(const Settings& settings, const Engine& engine) {
  std::string scrape;
  while (Sum(scrape, "weir_step_duration_seconds_count") < kSteps)
    scrape = HttpGet(settings.metrics_port + engine.rank(), "/metrics").body;
  return scrape;
}

class CountedBytes : public testing::TestWithParam<Kind> {};

TEST_P(CountedBytes, AreThoseOfTheReports) {
  Settings settings;
  settings.metrics_port = FreePorts(kRanks);
  RunLocal(
      kRanks,
      [&](Engine& engine) {
        Training training(engine, GetParam().compression);
        double payload = 0.0;
        double dense = 0.0;
        for (int step = 0; step < kSteps; ++step) {
          const StepReport report = training.Step();
          payload += static_cast<double>(report.wire_bytes);
          dense += static_cast<double>(report.dense_bytes);
        }
        const std::string scrape = ScrapeAfterSteps(settings, engine);
        EXPECT_EQ(Sum(scrape, "weir_payload_bytes_total"), payload);
        EXPECT_EQ(Sum(scrape, "weir_dense_equivalent_bytes_total"), dense);
      },
      settings);
}

// As an optimizer with two kinds of compression takes its steps.
TEST(CountedSteps, GroupsThatTakeAStepTogetherCountItOnce) {
  Settings settings;
  settings.metrics_port = FreePorts(kRanks);
  RunLocal(
      kRanks,
      [&](Engine& engine) {
        Training one(engine, By("allgather"), "one");
        Training other(engine, {{"compressor", "dense"}}, "other");
        double payload = 0.0;
        for (int step = 0; step < kSteps; ++step) {
          for (Training* training : {&one, &other}) {
            training->Begin();
            for (std::size_t i = 0; i < Training::tensors(); ++i) {
              training->ComputeGradient(i);
              training->Submit(i);
            }
          }
          payload += static_cast<double>(one.End().wire_bytes);
          payload += static_cast<double>(other.End().wire_bytes);
        }
        const std::string scrape = ScrapeAfterSteps(settings, engine);
        EXPECT_EQ(Sum(scrape, "weir_payload_bytes_total"), payload);
        EXPECT_EQ(Sum(scrape, "weir_step_duration_seconds_count"), kSteps);
        EXPECT_GT(Sum(scrape, "weir_exposed_communication_seconds_total"), 0.0);
      },
      settings);
}

INSTANTIATE_TEST_SUITE_P(
    , CountedBytes,
    testing::Values(Kind{"Dense", {{"compressor", "dense"}}}, Kind{"Allgather", By("allgather")},
                    Kind{"Split", By("split")}, Kind{"PushPull", By("push_pull")},
                    Kind{"PowerSgd", {{"compressor", "powersgd"}, {"min_elements", "100"}}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace weir::counted_bytes_test
