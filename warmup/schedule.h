#pragma once

#include <cstdint>
#include <vector>

namespace weir {

/// Course of the density during the warm-up.
enum class ScheduleForm {
  kList,         ///< Stages of equal length, then the last one for ever.
  kExponential,  ///< One smooth curve from the first stage to the last.
  kConstant,     ///< The last stage from the first compressed step on.
};

/// The plain values a Schedule is made from. Density is the fraction kept, 1 - sparsity.
struct ScheduleSettings {
  ScheduleForm form = ScheduleForm::kList;
  /// Gradients stay dense before this step (Paddle's rampup_begin_step).
  std::int64_t begin_step = 0;
  /// Steps of the warm-up, counted from begin_step (Paddle's rampup_step); 0 means none.
  std::int64_t warmup_steps = 0;
  /// Density after the warm-up, 0 < density <= 1.
  double final_density = 0.001;
  /// Densities of the stages. The last one holds after the warm-up and must be final_density.
  /// Empty: DefaultStages(final_density).
  std::vector<double> stages = {};
};

/// The stages of the DGC paper (section 3.3), densities 0.25, 0.0625, 0.015625, 0.004, 0.001, cut
/// or extended to end at `final_density`: those above it, then `final_density` itself. So 0.01
/// gives 0.25, 0.0625, 0.015625, 0.01 and 0.0001 gives six stages.
std::vector<double> DefaultStages(double final_density);

/// Density as a function of the step: a value, the same on all ranks, thread-safe.
class Schedule {
 public:
  /// Density 1 for ever.
  Schedule() = default;

  /// True before begin_step: the gradient is all-reduced uncompressed.
  bool DensePhase(std::int64_t step) const { return step < begin_step_; }

  /// First step that is compressed.
  std::int64_t begin_step() const { return begin_step_; }
  /// Density after the warm-up.
  double final_density() const { return stages_.back(); }

  /// Fraction of entries to send at `step`; 1 in the dense phase.
  double Density(std::int64_t step) const;

 private:
  friend Schedule MakeSchedule(const ScheduleSettings& settings);

  ScheduleForm form_ = ScheduleForm::kConstant;
  std::int64_t begin_step_ = 0;
  std::int64_t warmup_steps_ = 0;
  std::vector<double> stages_ = {1.0};  ///< Never empty.
};

/// Throws InvalidArgument for a density outside (0, 1], a negative step count, or stages that do
/// not end at final_density.
Schedule MakeSchedule(const ScheduleSettings& settings);

}  // namespace weir
