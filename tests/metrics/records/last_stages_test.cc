#include "metrics/records/last_stages.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr std::int64_t kMs = 1'000'000;

TEST(LastStages, AreTheNewestOnesInTheirOrder) {
  Recorder recorder;
  BucketNames names;
  names.Add({.name = "model/w"});
  EXPECT_EQ(LastStages(recorder, names, 0), "none");
  for (int step = 0; step < 20; ++step) {
    recorder.Add({.end_ns = step * kMs, .step = step, .stage = Stage::kCompress});
  }
  recorder.Add({.end_ns = 20 * kMs, .step = 19, .stage = Stage::kStep});
  recorder.Add({.end_ns = 21 * kMs, .stage = Stage::kExchange, .ok = false});
  const std::string text = LastStages(recorder, names, 24 * kMs);
  EXPECT_EQ(text.find("10.0 ms ago compress of 'model/w' in step 14, 9.0 ms ago"), 0u) << text;
  EXPECT_NE(text.find(", 4.0 ms ago step in step 19, 3.0 ms ago exchange of 'model/w' (failed)"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace weir
