#include "coordinator/groups/divergence_alarm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "coordinator/engine/engine_impl.h"

namespace weir::divergence_alarm_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr double kDensity = 0.01;  // An entry waits for 100 steps.

struct Said {
  int step;
  std::string text;
};

std::vector<Said> SaidIn(int steps, const std::function<DivergenceAlarm::Step(int)>& of_step) {
  DivergenceAlarm alarm("g");
  std::vector<Said> said;
  for (int i = 0; i < steps; ++i) {
    std::string text = alarm.After(of_step(i));
    if (!text.empty()) said.push_back({i, std::move(text)});
  }
  return said;
}

std::vector<Said> SaidOf(const std::function<double(int)>& threshold, int steps = 2000) {
  return SaidIn(steps, [&](int i) {
    return DivergenceAlarm::Step{.density = kDensity, .threshold = threshold(i)};
  });
}

TEST(DivergenceAlarm, AThresholdThatGrowsFor200StepsIsToldOnce) {
  const std::vector<Said> said = SaidOf([](int i) { return std::exp(0.01 * i); });
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0].text, AllOf(HasSubstr("'g'"), HasSubstr("grown for 200 steps, 7.4-fold"),
                                  HasSubstr("Lower the learning rate")));
  // 100 steps in which entries wait, 40 to compare with, and 200.
  EXPECT_NEAR(said[0].step, 340, 1);
}

TEST(DivergenceAlarm, EntriesThatHaveNotHadTheirTurnMayGrow) {
  EXPECT_THAT(SaidOf([](int i) { return std::min(1.0 + i, 100.0); }), IsEmpty());
}

TEST(DivergenceAlarm, ASlowOrUnsteadyGrowthIsNone) {
  EXPECT_THAT(SaidOf([](int i) { return std::exp(0.001 * i); }), IsEmpty());
  EXPECT_THAT(SaidOf([](int i) { return std::exp(0.005 * i) * (i % 160 < 80 ? 2.0 : 1.0); }),
              IsEmpty());
}

TEST(DivergenceAlarm, AWarmUpCountsForNothing) {
  const std::vector<Said> said = SaidIn(1000, [](int i) {
    return DivergenceAlarm::Step{.density = i < 600 ? 1.0 / (1 + i) : kDensity,
                                 .threshold = i < 600 ? std::exp(0.01 * i) : std::exp(6.0)};
  });
  EXPECT_THAT(said, IsEmpty());
}

TEST(DivergenceAlarm, SkippedStepsInARowAreTold) {
  const auto skips = [](int every) {
    return SaidIn(100, [=](int i) { return DivergenceAlarm::Step{.skipped = i % every != 0}; });
  };
  EXPECT_THAT(skips(20), IsEmpty()) << "Nineteen in a row.";
  const std::vector<Said> said = skips(21);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(said[0].step, 20);
  EXPECT_THAT(said[0].text, AllOf(HasSubstr("20 steps"), HasSubstr("inf or NaN")));
}

TEST(DivergenceAlarm, ALossScaleBelowOneIsToldIfItWasLarger) {
  const auto scale = [](double first, double factor) {
    return SaidIn(40, [=](int i) {
      return DivergenceAlarm::Step{.loss_scale = first * std::pow(factor, i)};
    });
  };
  EXPECT_THAT(scale(65536.0, 2.0), IsEmpty());
  EXPECT_THAT(scale(0.5, 1.0), IsEmpty()) << "A program's own choice.";
  const std::vector<Said> said = scale(65536.0, 0.5);
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(said[0].step, 17);
  EXPECT_THAT(said[0].text, AllOf(HasSubstr("fallen to 0.5, from 6.55e+04")));
}

/// Returns what a job writes whose gradients grow by `growth` in each step. `noted`: what rank 0
/// has for its summary then.
std::string LogOfJob(double growth, std::vector<std::string>& noted) {
  testing::internal::CaptureStderr();
  RunLocal(2, [&](Engine& engine) {
    constexpr std::size_t kElements = 2000;
    const auto group = engine.Register(
        {.name = "g",
         .tensors = {{.name = "w", .shape = {40, 50}}},
         .compression = {{"compressor", "dgc"}, {"density", "0.1"}, {"min_elements", "1"}}});
    std::vector<float> gradient(kElements);
    for (int step = 0; step < 300; ++step) {
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        const auto place = static_cast<double>((i * 7919 + static_cast<std::size_t>(step)) % 1000);
        gradient[i] = static_cast<float>((place - 500.0) * std::pow(growth, step));
      }
      group->BeginStep({});
      const TensorView view{gradient.data(), DType::kFloat32, {40, 50}};
      group->Submit(0, view, view);
      group->EndStep();
      group->WaitStep();
    }
    if (engine.rank() == 0) noted = dynamic_cast<EngineImpl&>(engine).gauges().divergences();
  });
  return testing::internal::GetCapturedStderr();
}

TEST(DivergenceAlarm, AGroupWarnsOfIt) {
  std::vector<std::string> noted;
  EXPECT_THAT(LogOfJob(1.02, noted), HasSubstr("what 'g' keeps back has grown for 200 steps"));
  EXPECT_THAT(noted, ElementsAre(HasSubstr("what 'g' keeps back has grown for 200 steps")));
  EXPECT_THAT(LogOfJob(1.0, noted), Not(HasSubstr("keeps back has grown")));
  EXPECT_THAT(noted, IsEmpty());
}

}  // namespace
}  // namespace weir::divergence_alarm_test
