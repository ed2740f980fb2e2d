// Error feedback under the learning rates of several parameter groups, on whole local jobs: the
// rest of a rank, and of a server's answers, is rescaled by the rates of its own group.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "coordinator/engine/local_job.h"
#include "tests/coordinator/jobs/job.h"

namespace weir::learning_rates_test {
namespace {

using Options = std::map<std::string, std::string>;
using Values = std::vector<float>;

constexpr std::size_t kElements = 24;
constexpr std::size_t kSent = 3;
constexpr std::size_t kGroups = 2;
constexpr std::size_t kSteps = 7;
/// Powers of two, as are the numbers of ranks: with gradients in eighths everything is exact. One
/// rises where the other falls, and both are 0 for a while.
constexpr std::array<std::array<float, kGroups>, kSteps> kRates = {{{0.5f, 0.125f},
                                                                    {0.25f, 0.5f},
                                                                    {0.25f, 1.0f},
                                                                    {0.0f, 0.25f},
                                                                    {0.5f, 0.25f},
                                                                    {1.0f, 0.0f},
                                                                    {0.25f, 0.5f}}};

const Options kTopK = {{"compressor", "topk"}, {"k", std::to_string(kSent)}, {"values", "fp32"},
                       {"ef", "vanilla"},      {"min_elements", "1"},        {"policy", "always"}};

Values GradientOf(std::size_t rank, std::size_t group, std::size_t step) {
  Values gradient(kElements);
  for (std::size_t i = 0; i < kElements; ++i) {
    const std::size_t mixed = (i * 31 + rank * 57 + group * 13 + step * 7) * 17 % 101;
    gradient[i] = static_cast<float>(mixed) / 8.0f - 6.0f;
  }
  return gradient;
}

float RatioOf(std::size_t group, std::size_t step) {
  const float now = kRates[step][group];
  const float before = step == 0 ? now : kRates[step - 1][group];
  return now == 0.0f || before == 0.0f ? 1.0f : before / now;
}

/// One residual: adds it to `values`, keeps all but the largest and returns these.
Values Select(const Values& values, float ratio, Values& residual) {
  Values sent(kElements, 0.0f);
  for (std::size_t i = 0; i < kElements; ++i) residual[i] = values[i] + ratio * residual[i];
  for (std::size_t count = 0; count < kSent; ++count) {
    const auto largest =
        std::ranges::max_element(residual, {}, [](float x) { return std::abs(x); });
    sent[static_cast<std::size_t>(largest - residual.begin())] = *largest;
    *largest = 0.0f;
  }
  return sent;
}

/// The updates of all steps of one group.
Values Expected(std::size_t ranks, std::size_t group, bool served) {
  std::vector<Values> residuals(ranks, Values(kElements, 0.0f));
  Values at_server(kElements, 0.0f);
  Values updates;
  for (std::size_t step = 0; step < kSteps; ++step) {
    const float ratio = RatioOf(group, step);
    Values mean(kElements, 0.0f);
    for (std::size_t r = 0; r < ranks; ++r) {
      const Values sent = Select(GradientOf(r, group, step), ratio, residuals[r]);
      for (std::size_t i = 0; i < kElements; ++i) mean[i] += sent[i];
    }
    for (float& value : mean) value /= static_cast<float>(ranks);
    if (served) mean = Select(mean, ratio, at_server);
    updates.insert(updates.end(), mean.begin(), mean.end());
  }
  return updates;
}

/// The same from an engine, of both groups.
std::array<Values, kGroups> Updates(Engine& engine, const Options& compression) {
  const Shape shape{kElements};
  const auto gradients =
      engine.Register({.name = "g",
                       .tensors = {{.name = "a", .shape = shape},
                                   {.name = "b", .shape = shape, .parameter_group = 1}},
                       .compression = compression});
  std::array<Values, kGroups> updates;
  for (std::size_t step = 0; step < kSteps; ++step) {
    std::array<Values, kGroups> given;
    std::array<Values, kGroups> update;
    gradients->BeginStep({.learning_rates = kRates[step]});
    for (std::size_t g = 0; g < kGroups; ++g) {
      given[g] = GradientOf(static_cast<std::size_t>(engine.rank()), g, step);
      update[g].resize(kElements);
      gradients->Submit(g, {given[g].data(), DType::kFloat32, shape},
                        {update[g].data(), DType::kFloat32, shape});
    }
    gradients->EndStep();
    gradients->WaitStep();
    for (std::size_t g = 0; g < kGroups; ++g) {
      updates[g].insert(updates[g].end(), update[g].begin(), update[g].end());
    }
  }
  return updates;
}

void ExpectUpdates(int ranks, const Options& compression, bool served, int servers) {
  Settings settings;
  settings.servers = servers;
  RunLocal(
      ranks,
      [&](Engine& engine) {
        const auto updates = Updates(engine, compression);
        for (std::size_t g = 0; g < kGroups; ++g) {
          EXPECT_EQ(updates[g], Expected(static_cast<std::size_t>(ranks), g, served)) << g;
        }
      },
      settings);
}

class LearningRates : public testing::TestWithParam<int> {};

TEST_P(LearningRates, WhatARankKeepsFollowsTheRateOfItsParameterGroup) {
  ExpectUpdates(GetParam(), kTopK, /*served=*/false, /*servers=*/0);
}

// Whether ranks are the servers or processes that are told the rates.
TEST_P(LearningRates, WhatAServerKeepsFollowsThemToo) {
  Options options = kTopK;
  options["route"] = "push_pull";
  options["partition_bytes"] = std::to_string(kElements * sizeof(float));
  for (const int servers : {0, 1, 2}) {
    SCOPED_TRACE(testing::Message() << servers << " servers");
    ExpectUpdates(GetParam(), options, /*served=*/true, servers);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, LearningRates, testing::Values(1, 2, 4),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weir::learning_rates_test
