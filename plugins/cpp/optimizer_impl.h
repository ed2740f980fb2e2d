#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compression/state/state.h"
#include "plugins/cpp/accumulator.h"
#include "plugins/cpp/sgd.h"
#include "weir/optimizer.h"

namespace weir {

class DistributedOptimizer::Impl {
 public:
  Impl(Engine& engine, std::vector<Parameter> parameters, OptimizerOptions options);

  void BeginStep(std::span<const float> learning_rates, float loss_scale);
  void GradientReady(std::size_t index);
  StepReport Step();
  void StepLater();
  void Update(std::size_t index);
  StepReport Finish();
  const GradientGroup& group() const { return *group_; }
  int parameter_groups() const { return parameter_groups_; }

  void Save(std::ostream& out) const;
  void Load(std::span<std::istream* const> former_ranks);
  void Adopt(std::istream& one_rank);

 private:
  /// Reads values and the rule's state. Throws as Load does.
  SavedState ReadOwn(std::span<std::istream* const> former_ranks) const;
  /// Reads what precedes the group's state in `ranks`, lets `load_group` read that, and restores.
  void LoadWith(const std::function<void()>& load_group, std::span<std::istream* const> ranks);
  void CheckParameters() const;
  void RegisterGradients();
  void BroadcastParameters();
  /// Throws InvalidArgument if settings ask for what cannot be verified.
  void CheckVerifiable() const;
  /// Throws Mismatch if ranks have different values, as often as settings ask for.
  void VerifyValues();
  void Submit(std::size_t index);
  /// Submits what is left, and ends the step.
  void EndStep();
  void CheckIndex(const char* call, std::size_t index) const;
  void Apply(std::size_t index);
  SavedState CollectState() const;
  void RestoreState(const SavedState& state);

  Engine& engine_;
  const std::vector<Parameter> parameters_;
  const std::string name_;
  const SgdPlan plan_;
  const std::unique_ptr<UpdateRule> rule_;
  std::unique_ptr<GradientGroup> group_;
  std::vector<Accumulator> accumulators_;
  LookAhead look_ahead_;
  std::vector<float> rates_;
  float loss_scale_ = 1.0f;
  std::atomic<bool> open_ = false;  ///< True between BeginStep and Step.
  const bool cross_barrier_;
  std::vector<Handle> handles_;  ///< Of this step's gradients, by parameter.
  std::vector<char> is_late_;    ///< By parameter: Update has to wait for it.
  bool step_is_late_ = false;    ///< Between StepLater and Finish.
  StepReport last_report_;
  int parameter_groups_ = 1;
  std::int64_t verified_at_ = 0;  ///< Step of the last VerifyValues that looked.
};

}  // namespace weir
