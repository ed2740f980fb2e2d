#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weir/engine.h"

namespace weir {

/// One trained tensor: fp32 values and their gradient, in the program's memory, which must outlive
/// the optimizer. Step overwrites `gradient`. include/weir/eigen.h makes one from Eigen matrices.
struct Parameter {
  std::string name;
  std::span<float> value;
  std::span<float> gradient;
  Shape shape;              ///< The shape of both: elements() == value.size() == gradient.size().
  int parameter_group = 0;  ///< Index into the learning rates of BeginStep.
};

/// Turns an averaged direction into new values. The optimizer owns the rule. Step calls it on the
/// training thread, one parameter after the other. All ranks must compute the same.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;

  /// Updates `value`. `direction` is this parameter's combined result; the rule may change it.
  virtual void Apply(std::size_t parameter, std::span<float> value, std::span<float> direction,
                     float learning_rate) = 0;

  /// An array that a checkpoint needs: {name, values}, per parameter. May be empty.
  struct StateArray {
    std::string name;
    std::span<float> values;
  };
  virtual std::vector<StateArray> State(std::size_t parameter) = 0;
};

struct OptimizerOptions {
  /// Stochastic gradient descent. With the compressor "dgc" the momentum moves into the compressor
  /// (momentum correction), and weight decay keeps its own momentum beside it. The result equals
  /// dense momentum SGD except for what compression holds back. With momentum=adam the compressor
  /// takes Adam's steps, learning rate included, and the update subtracts them: AdamW with this
  /// weight decay; `momentum` must be 0.
  float momentum = 0.0f;
  bool nesterov = false;
  float weight_decay = 0.0f;
  /// docs/reference/compression.md. Empty: Settings::compression; if that is empty too, plain
  /// averaging. Keys may carry patterns of the parameters' names.
  std::map<std::string, std::string> compression;
  /// Number of backward passes whose gradients are averaged before each exchange.
  int backward_passes_per_step = 1;
  /// StepLater may be called: the next forward pass waits, parameter by parameter, for its own
  /// update only. The gradients of the first parameters then overtake others on the network.
  bool cross_barrier = false;
  /// The program's own rule, in place of SGD. Momentum, Nesterov and weight decay are then up to
  /// the rule and must stay 0 here.
  std::unique_ptr<UpdateRule> rule;
  /// Name of the optimizer, unique in a job.
  std::string name = "optimizer";
};

/// Data-parallel training: every rank computes gradients on its own samples, and all ranks apply
/// the same update.
///
///     weir::DistributedOptimizer optimizer(*engine, parameters, {.momentum = 0.9f});
///     for (...) {
///       optimizer.BeginStep(rate);
///       // forward and backward pass; as soon as gradient i is complete:
///       optimizer.GradientReady(i);
///       optimizer.Step();
///     }
///
/// GradientReady may be called from any thread and starts the exchange of that gradient at once, to
/// hide it behind the rest of the backward pass. All other calls belong to one thread. Throws what
/// GradientGroup and Engine throw.
class DistributedOptimizer {
 public:
  /// Collective. Copies rank 0's parameter values to all ranks and registers the gradients. Throws
  /// InvalidArgument for contradictory options, Mismatch where ranks differ.
  DistributedOptimizer(Engine& engine, std::vector<Parameter> parameters, OptimizerOptions options);
  ~DistributedOptimizer();
  DistributedOptimizer(const DistributedOptimizer&) = delete;
  DistributedOptimizer& operator=(const DistributedOptimizer&) = delete;

  /// Opens a step with one rate for all parameter groups, or one for each. `loss_scale`: see
  /// StepInfo. With the compression option look_ahead, parameters are shifted from here to Step, so
  /// that the passes in between compute their gradients ahead.
  void BeginStep(float learning_rate, float loss_scale = 1.0f);
  void BeginStep(std::span<const float> learning_rates, float loss_scale = 1.0f);

  /// Marks the gradient of parameter `index` as complete for this backward pass. It must stay
  /// untouched until Step returns.
  void GradientReady(std::size_t index);

  /// Waits for the exchange and updates every parameter. Every call of GradientReady must have
  /// returned. A gradient that was not ready counts as zero on this rank. A skipped step
  /// (StepReport::skipped) changes nothing.
  StepReport Step();

  /// With OptimizerOptions::cross_barrier: the same, but returns while results are under way.
  /// Before anything reads parameter `index`, or writes its gradient, Update waits for its result
  /// and updates it; Finish does so for all that is left, as do the next BeginStep, Save, Load,
  /// Adopt and the destructor, and returns what Step would have. The values are those of Step.
  /// Where a step may be skipped, StepLater waits. Throws InvalidArgument without cross_barrier, or
  /// for a wrong index.
  void StepLater();
  void Update(std::size_t index);
  StepReport Finish();

  /// Number of the step after the last finished one, and the density that its schedule asks for.
  std::int64_t next_step() const;
  double next_density() const;

  /// Saves values, the rule's state, this rank's compressor state and the step, bit-exactly. Throws
  /// InvalidArgument when the stream fails, as on a full disk; training goes on as if nothing had
  /// been asked for.
  void Save(std::ostream& out) const;
  /// Restores what Save wrote: this rank's own state, or, after the number of ranks changed, those
  /// of all former ranks in rank order. Collective and blocking: all ranks must load states of the
  /// same step (Mismatch). Also throws Corrupt or InvalidArgument.
  void Load(std::span<std::istream* const> former_ranks);
  /// Restores what any one rank has saved as this rank's own: values and rule are equal on all
  /// ranks, and its compressor state stands for this rank's (GradientGroup::Adopt). Collective like
  /// Load, which other ranks may call meanwhile.
  void Adopt(std::istream& one_rank);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
