// A person who watches a job sees stalls begin and end; ranks are threads here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/free_ports.h"
#include "tests/metrics/http/http_get.h"
#include "tests/read_file.h"
#include "tests/temporary_folder.h"
#include "weir/engine.h"

namespace weir::stall_test {
namespace {

using nlohmann::json;

class Stall : public testing::Test {
 protected:
  Stall() {
    settings_.stall_warning_seconds = 0.1;
    settings_.metrics_port = FreePorts(3);
    settings_.record_filename = folder_ / "run.weirlog";
  }
  /// Rank 0's page, once it is as `is_so` wants.
  template <typename IsSo>
  json AwaitStalls(IsSo is_so) const {
    while (true) {
      const json said = json::parse(HttpGet(settings_.metrics_port, "/stalls").body);
      if (is_so(said["tensors"])) return said;
    }
  }
  void AwaitInLog(const std::string& text) const {
    while (HttpGet(settings_.metrics_port, "/log").body.find(text) == std::string::npos) {
    }
  }
  /// Where the machine is busy, what came before may have stalled too, and others may still be
  /// late.
  static bool IsLateOnRankTwoAlone(const json& tensors) {
    return tensors.size() == 1 && tensors[0]["name"] == "late" &&
           tensors[0]["missing_ranks"] == json({2});
  }
  static bool IsNone(const json& tensors) { return tensors.empty(); }

  const TemporaryFolder folder_;
  Settings settings_;
};

TEST_F(Stall, IsNamedWithTheRanksThatMissItUntilItIsOver) {
  const std::string late = R"("tensors":[{"name":"late",)";
  std::latch seen(1);
  RunLocal(
      3,
      [&](Engine& engine) {
        engine.Wait(engine.Barrier());  // Rank 0 answers from here on.
        double value = 1.0;
        const auto view = ViewOf(std::span<double>(&value, 1));
        if (engine.rank() == 2) {
          const json said = AwaitStalls(IsLateOnRankTwoAlone);
          EXPECT_GE(said["tensors"][0]["waited_seconds"], 0.05);
          AwaitInLog(late);
        }
        engine.Wait(engine.Allreduce("late", view, view));
        EXPECT_EQ(value, 1.0);
        // Nothing else is submitted: the end is told all the same.
        if (engine.rank() == 2) {
          AwaitStalls(IsNone);
          seen.count_down();
        }
        seen.wait();
      },
      settings_);
  const std::string log = ReadFile(settings_.record_filename);
  const std::size_t named = log.find(late);
  ASSERT_NE(named, std::string::npos);
  EXPECT_NE(log.find(R"("tensors":[])", named), std::string::npos) << "that it is over";
}

/// Rank 0 is neither one that waits nor one that is missing, and hears of it from others.
TEST_F(Stall, OfAProcessSetWithoutRankZeroIsKnownThereToo) {
  std::latch seen(1);
  RunLocal(
      3,
      [&](Engine& engine) {
        const int set = engine.AddProcessSet(std::vector{1, 2});
        if (engine.rank() == 0) {
          const json said = AwaitStalls(IsLateOnRankTwoAlone);
          EXPECT_EQ(said["tensors"][0]["process_set"], set);
          seen.count_down();
          AwaitStalls(IsNone);
          return;
        }
        if (engine.rank() == 2) seen.wait();
        double value = 1.0;
        const auto view = ViewOf(std::span<double>(&value, 1));
        engine.Wait(engine.Allreduce("late", view, view, {.process_set = set}));
      },
      settings_);
}

}  // namespace
}  // namespace weir::stall_test
