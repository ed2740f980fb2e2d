#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/coordinator/jobs/job.h"
#include "tests/parallel/failures_only.h"

namespace weir {
namespace {

int FromLauncher(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::stoi(value);
}

}  // namespace

std::vector<int> JobSizes() { return {FromLauncher("WEIR_LAUNCHER_SIZE", 1)}; }

// Every call makes a new engine, so that no test finds what another one left.
void RunJob(int ranks, const std::function<void(Engine&)>& body, const Settings& settings) {
  const std::unique_ptr<Engine> engine = Engine::Create(settings);
  EXPECT_EQ(engine->size(), ranks);
  try {
    body(*engine);
  } catch (const std::exception& error) {
    engine->Abort(error.what());
    throw;
  }
}

}  // namespace weir

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  weir::PrintFailuresOnlyUnlessRankZero(weir::FromLauncher("WEIR_LAUNCHER_RANK", 0));
  return RUN_ALL_TESTS();
}
