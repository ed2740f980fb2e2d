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
/// the optimizer. `gradient` is overwritten by Step. include/weir/eigen.h makes one from matrices.
struct Parameter {
  std::string name;
  std::span<float> value;
  std::span<float> gradient;
  Shape shape;              ///< Of both; elements() == value.size() == gradient.size().
  int parameter_group = 0;  ///< Which learning rate it follows.
};

/// Turns an averaged direction into new values. The optimizer owns the rule and calls it from Step,
/// one parameter after the other, on the training thread. All ranks must compute the same.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;

  /// `direction` is what all ranks received for this parameter; the rule may change it.
  virtual void Apply(std::size_t parameter, std::span<float> value, std::span<float> direction,
                     float learning_rate) = 0;

  /// Arrays that belong into a checkpoint: {name, values}, per parameter. May be empty.
  struct StateArray {
    std::string name;
    std::span<float> values;
  };
  virtual std::vector<StateArray> State(std::size_t parameter) = 0;
};

struct OptimizerOptions {
  /// Stochastic gradient descent. With the compressor "dgc" the momentum moves into the compressor
  /// (momentum correction), and weight decay keeps its own momentum beside it, so that the result
  /// equals dense momentum SGD but for what compression holds back. With its option momentum=adam
  /// the compressor takes Adam's steps, learning rate included, and the update is to subtract them:
  /// AdamW, with this weight decay and no momentum here.
  float momentum = 0.0f;
  bool nesterov = false;
  float weight_decay = 0.0f;
  /// docs/reference/compression.md; empty: Settings::compression, and plain averaging without it.
  /// Keys may carry patterns of the parameters' names.
  std::map<std::string, std::string> compression;
  /// Gradients of this many backward passes are averaged before they are exchanged.
  int backward_passes_per_step = 1;
  /// Instead of SGD: a rule of the program's own. Momentum, Nesterov and weight decay are then its
  /// business and must be left at 0.
  std::unique_ptr<UpdateRule> rule;
  /// Unique among the optimizers of a job.
  std::string name = "optimizer";
};

/// Data-parallel training: every rank computes gradients on its own samples, all ranks apply the
/// same update.
///
///     weir::DistributedOptimizer optimizer(*engine, parameters, {.momentum = 0.9f});
///     for (...) {
///       optimizer.BeginStep(rate);
///       // forward and backward pass; as soon as gradient i is complete:
///       optimizer.GradientReady(i);
///       optimizer.Step();
///     }
///
/// GradientReady may be called from any thread, and starts the exchange of that gradient at once,
/// so that it hides behind the rest of the backward pass. The rest belongs to one thread. Throws
/// what GradientGroup and Engine throw.
class DistributedOptimizer {
 public:
  /// Collective. Copies rank 0's parameter values to all ranks and registers the gradients. Throws
  /// InvalidArgument for options that contradict each other, Mismatch where ranks differ.
  DistributedOptimizer(Engine& engine, std::vector<Parameter> parameters, OptimizerOptions options);
  ~DistributedOptimizer();
  DistributedOptimizer(const DistributedOptimizer&) = delete;
  DistributedOptimizer& operator=(const DistributedOptimizer&) = delete;

  /// Opens a step. One rate for all parameter groups, or one for each. `loss_scale`: see StepInfo.
  /// With the compression option look_ahead parameters are shifted from here to Step, so that the
  /// passes between the two find their gradients ahead.
  void BeginStep(float learning_rate, float loss_scale = 1.0f);
  void BeginStep(std::span<const float> learning_rates, float loss_scale = 1.0f);

  /// The gradient of parameter `index` is complete for this backward pass. It must stay untouched
  /// until Step returns.
  void GradientReady(std::size_t index);

  /// Waits for the exchange and updates every parameter. Every call of GradientReady must have
  /// returned. A parameter whose gradient was not ready counts as zero on this rank. A skipped step
  /// (StepReport::skipped) changes nothing.
  StepReport Step();

  /// Number of the next step, and the density that its schedule asks for.
  std::int64_t next_step() const;
  double next_density() const;

  /// Everything: values, the rule's state, this rank's compressor state, the step. Bit-exact.
  void Save(std::ostream& out) const;
  /// Restores what Save wrote: this rank's own, or after the number of ranks changed the files of
  /// all former ranks in rank order. Collective and blocking: all ranks have to load states of the
  /// same step (Mismatch). Throws Corrupt or InvalidArgument too.
  void Load(std::span<std::istream* const> former_ranks);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
