// Exchanges of a host's ranks before compression (route=hierarchical): values
// that are not finite, and fp16.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "coordinator/engine/local_job.h"
#include "tests/coordinator/jobs/job_on_hosts.h"
#include "tests/coordinator/jobs/text_of.h"
#include "weir/error.h"

namespace weir::values_inside_hosts_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Lt;

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Step {
  std::vector<float> update;
  std::uint64_t non_finite = 0;
};

/// One step of four ranks on two hosts, in which everything is sent; what each rank got.
std::vector<Step> StepOf(const std::vector<std::vector<float>>& gradients,
                         const std::string& host_values) {
  JobOnHosts job(4, 2);
  std::vector<Step> steps(4);
  job.Run(
      [&](Engine& engine) {
        const auto rank = static_cast<std::size_t>(engine.rank());
        const Shape shape{1, static_cast<std::int64_t>(gradients[rank].size())};
        const auto group = engine.Register({.name = "g",
                                            .tensors = {{.name = "w", .shape = shape}},
                                            .compression = {{"compressor", "topk"},
                                                            {"k", "1000"},
                                                            {"values", "fp32"},
                                                            {"route", "hierarchical"},
                                                            {"host_values", host_values},
                                                            {"min_elements", "1"}}});
        std::vector<float> update(gradients[rank].size());
        group->BeginStep({});
        group->Submit(0, {gradients[rank].data(), DType::kFloat32, shape},
                      {update.data(), DType::kFloat32, shape});
        group->EndStep();
        const StepReport report = group->WaitStep();
        steps[rank] = {update, report.non_finite_entries};
      },
      {});
  return steps;
}

TEST(ValuesInsideHosts, OneRanksInfTakesNobodyElsesEntryWithIt) {
  for (const std::string values : {"fp32", "fp16"}) {
    SCOPED_TRACE(values);
    const float nan = std::nanf("");
    const std::vector<Step> steps =
        StepOf({{1, 2, 4}, {kInf, nan, 4}, {1, 2, 4}, {1, 2, 4}}, values);
    for (const Step& step : steps) EXPECT_THAT(step.update, ElementsAre(0.75f, 1.5f, 4.0f));
    EXPECT_EQ(steps[0].non_finite, 0u);
    EXPECT_EQ(steps[1].non_finite, 2u);
  }
}

TEST(ValuesInsideHosts, AsFp16AreRoundedOnceAndNeverOverflow) {
  const float third = 1.0f / 3.0f;
  const std::vector<std::vector<float>> gradients(4, {third, 1e6f, -1e6f, 0.5f});
  for (const Step& step : StepOf(gradients, "fp32")) {
    EXPECT_THAT(step.update, ElementsAre(third, 1e6f, -1e6f, 0.5f));
  }
  for (const Step& step : StepOf(gradients, "fp16")) {
    EXPECT_NE(step.update[0], third);
    EXPECT_THAT(std::abs(step.update[0] - third), Lt(third / 2048));
    EXPECT_EQ(step.update[1], 65504.0f);
    EXPECT_EQ(step.update[2], -65504.0f);
    EXPECT_EQ(step.update[3], 0.5f);
  }
}

TEST(ValuesInsideHosts, AreNoOptionOfOtherRoutes) {
  RunLocal(1, [](Engine& engine) {
    EXPECT_THAT(
        TextOf<InvalidArgument>([&] {
          engine.Register(
              {.name = "g",
               .tensors = {{.name = "w", .shape = Shape{7}}},
               .compression = {{"compressor", "topk"}, {"k", "3"}, {"host_values", "fp16"}}});
        }),
        HasSubstr("has an effect only with route=hierarchical"));
  });
}

}  // namespace
}  // namespace weir::values_inside_hosts_test
