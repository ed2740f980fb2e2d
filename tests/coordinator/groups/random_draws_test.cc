// Ranks draw different random numbers if these are to average out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/coordinator/jobs/job.h"

namespace weir {
namespace {

/// Returns the update from the one tensor's gradient, in one step.
std::vector<float> StepOf(GradientGroup& group, const std::vector<float>& gradient) {
  const Shape& shape = group.spec().tensors[0].shape;
  std::vector<float> update(gradient.size());
  group.BeginStep({});
  group.Submit(0, {gradient.data(), DType::kFloat32, shape},
               {update.data(), DType::kFloat32, shape});
  group.EndStep();
  group.WaitStep();
  return update;
}

class RandomDraws : public testing::TestWithParam<int> {};

TEST_P(RandomDraws, OfAStochasticQuantiserDifferFromRankToRank) {
  const int ranks = GetParam();
  RunJob(ranks, [&](Engine& engine) {
    // One level: every entry is sent as 0 or 1, so ranks that draw alike agree on each of them.
    const auto group = engine.Register(
        {.name = "g",
         .tensors = {{.name = "w", .shape = Shape{100, 100}}},
         .compression = {{"compressor", "dithering"}, {"k", "1"}, {"min_elements", "1"}}});
    std::vector<float> gradient(10000, 0.5f);
    gradient.front() = 1.0f;
    const std::vector<float> update = StepOf(*group, gradient);
    const auto disagreed =
        std::ranges::count_if(update, [](float mean) { return mean != 0.0f && mean != 1.0f; });
    EXPECT_EQ(disagreed > 1000, ranks > 1) << disagreed << " of " << update.size();
  });
}

// On push_pull the average is rounded, too: with draws of its own.
TEST_P(RandomDraws, OfAStochasticQuantiserAreRightOnAverageThoughServersRoundAgain) {
  const int ranks = GetParam();
  RunJob(ranks, [&](Engine& engine) {
    const auto group = engine.Register({.name = "g",
                                        .tensors = {{.name = "w", .shape = Shape{100, 100}}},
                                        .compression = {{"compressor", "dithering"},
                                                        {"k", "1"},
                                                        {"min_elements", "1"},
                                                        {"policy", "always"},
                                                        {"route", "push_pull"}}});
    // Rank 0, which serves the one part, has halves, the others nothing; the first entry is the
    // scale.
    std::vector<float> gradient(10000, engine.rank() == 0 ? 0.5f : 0.0f);
    gradient.front() = 1.0f;
    const std::vector<float> update = StepOf(*group, gradient);
    const auto sent = static_cast<double>(std::ranges::count(update, 1.0f));
    const double expected = 10000.0 / (2 * ranks);
    EXPECT_NEAR(sent, expected, 5 * std::sqrt(expected));  // Five standard deviations, or more.
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, RandomDraws, testing::ValuesIn(JobSizes()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir
