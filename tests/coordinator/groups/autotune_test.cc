// Settings::autotune: plans of what does not change training, and the log of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "tests/coordinator/groups/group_steps.h"
#include "tests/coordinator/jobs/job.h"
#include "tests/temporary_folder.h"

namespace weir::autotune_test {
namespace {

std::vector<std::string> LinesOf(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

Settings Tuned(const std::string& log) {
  Settings settings;
  settings.autotune = true;
  settings.autotune_log_filename = log;
  return settings;
}

/// Returns the updates of some steps of a group.
std::vector<Tensors> Updates(Engine& engine, const Options& options, int steps = 40) {
  const auto group = engine.Register(SpecOf(options));
  std::vector<Tensors> updates;
  for (int step = 0; step < steps; ++step) {
    updates.push_back(Step(*group, GradientOf(engine.rank(), step)));
  }
  return updates;
}

const Options kDgc = {{"compressor", "dgc"}, {"density", "0.05"}, {"min_elements", "100"}};

TEST(Autotune, ChangesNoBit) {
  for (const int ranks : JobSizesFrom(2)) {
    const auto updates = [](Engine& engine) { return Updates(engine, kDgc); };
    EXPECT_EQ(Results(RunJob, ranks, updates, Tuned("")), Results(RunJob, ranks, updates));
  }
}

TEST(Autotune, LogsWhatItTriesInHorovodsColumns) {
  for (const int ranks : JobSizesFrom(2)) {
    const TemporaryFolder folder;
    const std::string log = folder / "autotune.csv";
    RunJob(
        ranks,
        [&](Engine& engine) {
          // A search takes at most 9 steps, 20 tries of 3, and 3 more of 5.
          Updates(engine, kDgc, 9 + 20 * 3 + 3 * 5 + 1);
          if (engine.rank() != 0) return;
          const std::vector<std::string> lines = LinesOf(log);
          ASSERT_GE(lines.size(), 2u);
          EXPECT_EQ(lines[0],
                    "hierarchical_allreduce,hierarchical_allgather,torus_allreduce,cache_enabled,"
                    "cycle_time_ms,tensor_fusion_threshold,score,group,plan");
          for (std::size_t i = 1; i < lines.size(); ++i) {
            EXPECT_EQ(lines[i].rfind("0,0,0,1,1,128,", 0), 0u) << lines[i];
            EXPECT_EQ(std::ranges::count(lines[i], ','), 8) << lines[i];
            EXPECT_NE(lines[i].find(",\"model\","), std::string::npos) << lines[i];
          }
        },
        Tuned(log));
  }
}

TEST(Autotune, LogsOneSampleWhereNothingCanBeTuned) {
  for (const int ranks : JobSizesFrom(2)) {
    const TemporaryFolder folder;
    const std::string log = folder / "autotune.csv";
    Settings settings = Tuned(log);
    settings.autotune_steps_per_sample = 5;
    RunJob(
        ranks,
        [&](Engine& engine) {
          Updates(engine, {});
          if (engine.rank() == 0) {
            EXPECT_EQ(LinesOf(log).size(), 2u);
          }
        },
        settings);
  }
}

}  // namespace
}  // namespace weir::autotune_test
