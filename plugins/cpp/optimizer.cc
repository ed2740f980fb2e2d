#include "weir/optimizer.h"

#include <algorithm>
#include <utility>

#include "compression/options/tensor_options.h"
#include "coordinator/engine/programs_choice.h"
#include "plugins/cpp/optimizer_impl.h"
#include "plugins/cpp/replicas.h"

namespace weir {
namespace {

std::unique_ptr<UpdateRule> RuleOf(OptimizerOptions& options, const SgdPlan& plan,
                                   std::span<const Parameter> parameters) {
  if (options.rule) return std::move(options.rule);
  return std::make_unique<SgdRule>(plan, parameters);
}

}  // namespace

DistributedOptimizer::Impl::Impl(Engine& engine, std::vector<Parameter> parameters,
                                 OptimizerOptions options)
    : engine_(engine),
      parameters_(std::move(parameters)),
      name_(options.name),
      plan_(PlanSgd(options, parameters_)),
      rule_(RuleOf(options, plan_, parameters_)),
      look_ahead_(plan_.look_ahead, parameters_),
      cross_barrier_(options.cross_barrier),
      handles_(parameters_.size()),
      is_late_(parameters_.size()) {
  if (options.backward_passes_per_step < 1) {
    throw InvalidArgument("backward_passes_per_step must be at least 1, not " +
                          std::to_string(options.backward_passes_per_step));
  }
  CheckParameters();
  CheckVerifiable();
  for (const Parameter& parameter : parameters_) {
    accumulators_.emplace_back(parameter.gradient, options.backward_passes_per_step);
    parameter_groups_ = std::max(parameter_groups_, parameter.parameter_group + 1);
  }
  RegisterGradients();
  BroadcastParameters();
}

void DistributedOptimizer::Impl::CheckParameters() const {
  for (const Parameter& parameter : parameters_) {
    const auto elements = static_cast<std::size_t>(parameter.shape.elements());
    if (parameter.value.size() == elements && parameter.gradient.size() == elements) continue;
    throw InvalidArgument("parameter '" + parameter.name + "' has the shape " +
                              parameter.shape.ToString() + " but " +
                              std::to_string(parameter.value.size()) + " values and " +
                              std::to_string(parameter.gradient.size()) + " gradient entries",
                          {parameter.name, {}, "register"});
  }
}

void DistributedOptimizer::Impl::RegisterGradients() {
  GradientGroupSpec spec{.name = name_,
                         .compression = plan_.compression,
                         .by_priority = cross_barrier_,
                         .also_equal = plan_.also_equal};
  const int last = static_cast<int>(parameters_.size());
  const bool by_name = TensorOptions(plan_.compression).has_patterns();
  for (int i = 0; i < last; ++i) {
    const Parameter& parameter = parameters_[static_cast<std::size_t>(i)];
    spec.tensors.push_back({.name = parameter.name,
                            .shape = parameter.shape,
                            .parameter_group = parameter.parameter_group,
                            .priority = last - i});  // The next forward pass needs it first.
    if (by_name) {
      spec.tensors.back().compression = plan_.shares[static_cast<std::size_t>(i)].compression;
    }
  }
  group_ = engine_.Register(std::move(spec));
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    group_->SetDefaultUpdate(i, parameters_[i].gradient.data());
  }
}

void DistributedOptimizer::Impl::BroadcastParameters() {
  std::vector<Handle> handles;
  for (const Parameter& parameter : parameters_) {
    handles.push_back(engine_.Broadcast(name_ + "/" + parameter.name,
                                        {parameter.value.data(), DType::kFloat32, parameter.shape},
                                        0));
  }
  for (const Handle handle : handles) engine_.Wait(handle);
}

void DistributedOptimizer::Impl::CheckVerifiable() const {
  if (engine_.settings().verify_every == 0) return;
  for (const auto& [key, value] : plan_.compression) {
    if (!key.starts_with("max_staleness") || value == "0") continue;
    throw InvalidArgument("WEIR_VERIFY_EVERY with " + key + "=" + value + " of '" + name_ +
                          "': ranks have different parameters then. Leave one of them out");
  }
}

void DistributedOptimizer::Impl::VerifyValues() {
  const std::int64_t every = engine_.settings().verify_every;
  const std::int64_t steps = group_->next_step();
  // A step that was refused begins again, on one rank perhaps.
  if (every == 0 || steps % every != 0 || std::exchange(verified_at_, steps) == steps) return;
  std::vector<Replica> replicas;
  for (const Parameter& parameter : parameters_) {
    replicas.push_back({parameter.name, ChecksumOf(std::as_bytes(parameter.value))});
  }
  VerifyReplicas(engine_, name_, replicas, steps);
}

void DistributedOptimizer::Impl::BeginStep(std::span<const float> learning_rates,
                                           float loss_scale) {
  if (learning_rates.empty()) {  // A group would take it for "no rates"; the rule cannot.
    throw InvalidArgument("BeginStep got 0 learning rates for the " +
                          std::to_string(parameter_groups_) + " parameter groups of '" + name_ +
                          "'");
  }
  Finish();
  if (!open_) VerifyValues();
  handles_.assign(parameters_.size(), kNoHandle);
  if (!open_) look_ahead_.Read(*group_);  // Otherwise the group refuses the step.
  group_->BeginStep({.learning_rates = learning_rates, .loss_scale = loss_scale});
  look_ahead_.Shift(learning_rates, engine_.size());
  rates_.assign(learning_rates.begin(), learning_rates.end());
  loss_scale_ = loss_scale;
  for (Accumulator& accumulator : accumulators_) accumulator.Reset();
  open_ = true;
}

void DistributedOptimizer::Impl::CheckIndex(const char* call, std::size_t index) const {
  if (index < parameters_.size()) return;
  throw InvalidArgument(std::string(call) + "(" + std::to_string(index) +
                        ") of an optimizer with " + std::to_string(parameters_.size()) +
                        " parameters");
}

void DistributedOptimizer::Impl::GradientReady(std::size_t index) {
  CheckIndex("GradientReady", index);
  const std::string& name = parameters_[index].name;
  if (!open_) {
    throw InvalidArgument(
        "GradientReady was called for '" + name + "' outside a step: call BeginStep first",
        {name, {engine_.rank()}, "submit"});
  }
  if (accumulators_[index].Add(name)) Submit(index);
}

void DistributedOptimizer::Impl::Submit(std::size_t index) {
  const Parameter& parameter = parameters_[index];
  if (plan_.local_decay) {
    // The loss scale is removed later, from the sum.
    AddLocalWeightDecay(look_ahead_.Value(index), plan_.weight_decay * loss_scale_,
                        parameter.gradient);
  }
  const TensorView view{parameter.gradient.data(), DType::kFloat32, parameter.shape};
  handles_[index] = group_->Submit(index, view, view);
}

void DistributedOptimizer::Impl::EndStep() {
  look_ahead_.PutBack();  // First, because later calls may throw.
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (accumulators_[i].Finish()) Submit(i);
  }
  group_->NoteUnused({});  // A gradient that was not ready counts as zero, on all ranks, too.
  group_->EndStep();
  open_ = false;
}

void DistributedOptimizer::Impl::Apply(std::size_t index) {
  const Parameter& parameter = parameters_[index];
  rule_->Apply(index, parameter.value, parameter.gradient,
               rates_[static_cast<std::size_t>(parameter.parameter_group)]);
}

StepReport DistributedOptimizer::Impl::Step() {
  EndStep();
  last_report_ = group_->WaitStep();
  if (last_report_.skipped) return last_report_;
  for (std::size_t i = 0; i < parameters_.size(); ++i) Apply(i);
  return last_report_;
}

void DistributedOptimizer::Impl::StepLater() {
  if (!cross_barrier_) {
    throw InvalidArgument("StepLater of '" + name_ +
                          "', which was made without OptimizerOptions::cross_barrier");
  }
  const auto skips = plan_.compression.find("skip_nonfinite");
  if (skips != plan_.compression.end() && skips->second == "true") {
    Step();
    return;
  }
  EndStep();
  group_->GoOn();
  is_late_.assign(parameters_.size(), 1);
  step_is_late_ = true;
}

void DistributedOptimizer::Impl::Update(std::size_t index) {
  CheckIndex("Update", index);
  if (is_late_[index] == 0) return;
  if (handles_[index] == kNoHandle) {  // It was not ready on this rank; the group has its handle.
    Finish();
    return;
  }
  engine_.Wait(std::exchange(handles_[index], kNoHandle));
  is_late_[index] = 0;
  Apply(index);
}

StepReport DistributedOptimizer::Impl::Finish() {
  if (!step_is_late_) return last_report_;
  step_is_late_ = false;
  const std::vector<char> late = std::exchange(is_late_, std::vector<char>(parameters_.size()));
  last_report_ = group_->WaitStep();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (late[i] != 0) Apply(i);
  }
  return last_report_;
}

namespace {

/// Here and not in the group, because the compressor decides who handles the momentum.
OptimizerOptions WithDefaults(OptimizerOptions options, const Engine& engine) {
  if (options.compression.empty()) {
    options.compression = engine.settings().compression;
  } else {
    CheckProgramsChoice(options.name, options.compression, engine.settings(), engine.rank() == 0);
  }
  return options;
}

}  // namespace

DistributedOptimizer::DistributedOptimizer(Engine& engine, std::vector<Parameter> parameters,
                                           OptimizerOptions options)
    : impl_(std::make_unique<Impl>(engine, std::move(parameters),
                                   WithDefaults(std::move(options), engine))) {}
DistributedOptimizer::~DistributedOptimizer() {
  try {
    impl_->Finish();        // The program goes on with its values.
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the engine has ended, and has said why.
  }
}

void DistributedOptimizer::BeginStep(float learning_rate, float loss_scale) {
  const std::vector<float> rates(static_cast<std::size_t>(impl_->parameter_groups()),
                                 learning_rate);
  impl_->BeginStep(rates, loss_scale);
}
void DistributedOptimizer::BeginStep(std::span<const float> learning_rates, float loss_scale) {
  impl_->BeginStep(learning_rates, loss_scale);
}
void DistributedOptimizer::GradientReady(std::size_t index) { impl_->GradientReady(index); }
StepReport DistributedOptimizer::Step() { return impl_->Step(); }
void DistributedOptimizer::StepLater() { impl_->StepLater(); }
void DistributedOptimizer::Update(std::size_t index) { impl_->Update(index); }
StepReport DistributedOptimizer::Finish() { return impl_->Finish(); }
std::int64_t DistributedOptimizer::next_step() const { return impl_->group().next_step(); }
double DistributedOptimizer::next_density() const { return impl_->group().next_density(); }
void DistributedOptimizer::Save(std::ostream& out) const {
  impl_->Finish();
  impl_->Save(out);
}
void DistributedOptimizer::Load(std::span<std::istream* const> former_ranks) {
  impl_->Finish();
  impl_->Load(former_ranks);
}
void DistributedOptimizer::Adopt(std::istream& one_rank) {
  impl_->Finish();
  impl_->Adopt(one_rank);
}

}  // namespace weir
