#include "warmup/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "weir/error.h"

namespace weir {
namespace {

constexpr std::array kPaperStages = {0.25, 0.0625, 0.015625, 0.004, 0.001};

void CheckDensity(double density) {
  if (!(density > 0.0 && density <= 1.0)) {
    throw InvalidArgument("schedule: density " + std::to_string(density) +
                          " must be above 0 and at most 1 (density is 1 - sparsity)");
  }
}

void CheckSteps(const char* name, std::int64_t steps) {
  if (steps < 0) {
    throw InvalidArgument("schedule: " + std::string(name) + " is " + std::to_string(steps) +
                          ", but must not be negative");
  }
}

}  // namespace

std::vector<double> DefaultStages(double final_density) {
  std::vector<double> stages;
  for (double density : kPaperStages) {
    if (density > final_density) stages.push_back(density);
  }
  stages.push_back(final_density);
  return stages;
}

double Schedule::Density(std::int64_t step) const {
  if (DensePhase(step)) return 1.0;
  const std::int64_t elapsed = step - begin_step_;
  if (form_ == ScheduleForm::kConstant || elapsed >= warmup_steps_) return stages_.back();
  const double progress = static_cast<double>(elapsed) / static_cast<double>(warmup_steps_);
  if (form_ == ScheduleForm::kExponential) {
    return stages_.front() * std::pow(stages_.back() / stages_.front(), progress);
  }
  // Paddle's rule in integers, so that no rank rounds a stage border differently.
  const auto count = static_cast<std::int64_t>(stages_.size());
  return stages_[static_cast<std::size_t>(elapsed * count / warmup_steps_)];
}

Schedule MakeSchedule(const ScheduleSettings& settings) {
  CheckDensity(settings.final_density);
  CheckSteps("begin_step", settings.begin_step);
  CheckSteps("warmup_steps", settings.warmup_steps);
  Schedule schedule;
  schedule.form_ = settings.form;
  schedule.begin_step_ = settings.begin_step;
  schedule.warmup_steps_ = settings.warmup_steps;
  schedule.stages_ =
      settings.stages.empty() ? DefaultStages(settings.final_density) : settings.stages;
  for (double density : schedule.stages_) CheckDensity(density);
  if (schedule.stages_.back() != settings.final_density) {
    throw InvalidArgument("schedule: the last stage has density " +
                          std::to_string(schedule.stages_.back()) + ", but final_density is " +
                          std::to_string(settings.final_density) + "; they must be equal");
  }
  return schedule;
}

}  // namespace weir
