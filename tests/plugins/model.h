#pragma once

#include <span>
#include <vector>

#include "weir/optimizer.h"

namespace weir {

/// The model of the tests: two matrices and a bias, in memory of their own. All drawn numbers
/// depend on the arguments alone.
class Model {
 public:
  explicit Model(unsigned seed = 1);
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// "in" [8, 6], "bias" [8] and "out" [5, 8].
  std::vector<Parameter> Parameters();
  std::size_t tensors() const { return tensors_.size(); }
  std::size_t size() const;

  /// Draws every gradient of rank `rank` at step `step`: normally distributed.
  void DrawGradients(int step, int rank);
  void FillGradients(float value);
  std::span<float> gradient(std::size_t tensor) { return tensors_[tensor].gradient; }

  /// Returns all tensors, one after the other.
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

/// Returns a learning rate that changes at every step.
float RateAt(int step);

/// Takes one step with the gradients of DrawGradients, at RateAt(step).
StepReport TakeStep(DistributedOptimizer& optimizer, Model& model, int step, int rank);

}  // namespace weir
