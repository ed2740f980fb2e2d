#pragma once

#include <span>
#include <vector>

#include "weir/optimizer.h"

namespace weir {

/// What the tests train: two matrices and a bias, in memory of their own. Everything drawn depends
/// on the arguments alone.
class Model {
 public:
  explicit Model(unsigned seed = 1);
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// "in" [8, 6], "bias" [8] and "out" [5, 8].
  std::vector<Parameter> Parameters();
  std::size_t tensors() const { return tensors_.size(); }
  std::size_t size() const;

  /// Every gradient as rank `rank` would find it at step `step`: normally distributed.
  void DrawGradients(int step, int rank);
  void FillGradients(float value);
  std::span<float> gradient(std::size_t tensor) { return tensors_[tensor].gradient; }

  /// All tensors, one after the other.
  std::vector<float> Values() const;
  std::vector<float> Gradients() const;

 private:
  struct Tensor {
    const char* name;
    Shape shape;
    std::vector<float> value;
    std::vector<float> gradient;
  };
  std::vector<Tensor> tensors_;
};

/// A learning rate that changes at every step.
float RateAt(int step);

/// One step with every gradient as DrawGradients makes it, at RateAt(step).
StepReport TakeStep(DistributedOptimizer& optimizer, Model& model, int step, int rank);

}  // namespace weir
