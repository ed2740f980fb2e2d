#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "weir/engine.h"

namespace weir {

using Options = std::map<std::string, std::string>;

/// Options for DGC whose density falls from 90 % to 1 % in `warmup_steps` steps,
/// so that buckets use every route.
Options DgcOptions(const std::string& momentum, int warmup_steps);

/// Number of steps that pays off: with a sanitizer each takes ten times as long, and
/// errors show in the first ones.
constexpr int kMostSteps = WEIR_TEST_MOST_STEPS;

/// One rank of a training of a few small tensors: matrices that are compressed, and vectors and a
/// small matrix that are not, in several buckets.
///
/// The learning rate falls from step to step. Gradients depend on rank, step and weights, so that
/// replicas that differ in one bit drift apart.
class Training {
 public:
  Training(Engine& engine, const Options& compression, const std::string& name = "model",
           int process_set = 0);

  /// Takes one whole step, with the gradients in the order of `order` (empty: as registered).
  StepReport Step(const std::vector<std::size_t>& order = {});
  void Steps(int count);

  GradientGroup& group() { return *group_; }
  static std::size_t tensors();
  const std::vector<std::vector<float>>& weights() const { return weights_; }
  void set_weights(std::vector<std::vector<float>> weights) { weights_ = std::move(weights); }
  /// Covers all bits of all weights.
  std::uint64_t Hash() const;
  /// Computes the gradient of the coming step.
  void ComputeGradient(std::size_t tensor);
  /// Sets the gradient of a tensor that this rank did not use to zeros.
  void ZeroGradient(std::size_t tensor);
  /// Hands it over. Different threads may hand over different tensors.
  void Submit(std::size_t tensor);
  /// The parts of Step before and after its submissions.
  void Begin();
  StepReport End();

 private:
  const int rank_;
  float rate_ = 0.0f;  ///< Rate of the open step.
  std::vector<std::vector<float>> weights_;
  std::vector<std::vector<float>> gradients_;
  std::vector<std::vector<float>> updates_;
  std::unique_ptr<GradientGroup> group_;  ///< Last: it may read the others until destroyed.
};

}  // namespace weir
