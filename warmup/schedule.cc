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

std::optional<std::int64_t> Schedule::NextChange(std::int64_t step) const {
  const std::int64_t end = begin_step_ + (form_ == ScheduleForm::kConstant ? 0 : warmup_steps_);
  if (DensePhase(step)) return begin_step_;
  if (step >= end) return std::nullopt;
  if (form_ == ScheduleForm::kExponential) return step + 1;
  const auto count = static_cast<std::int64_t>(stages_.size());
  for (std::int64_t stage = (step - begin_step_) * count / warmup_steps_ + 1; stage < count;
       ++stage) {
    const std::int64_t first = begin_step_ + (stage * warmup_steps_ + count - 1) / count;
    if (Density(first) != Density(step)) return first;
  }
  return std::nullopt;
}

double Schedule::MaxDensity() const {
  if (form_ == ScheduleForm::kConstant || warmup_steps_ == 0) return stages_.back();
  return *std::ranges::max_element(stages_);
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
