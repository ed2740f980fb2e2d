#include "examples/01-byte-lm/local_trainer.h"

namespace byte_lm {

LocalTrainer::LocalTrainer(std::span<Parameter> parameters, float momentum)
    : parameters_(parameters), momentum_(momentum) {
  for (const Parameter& parameter : parameters_) {
    momentum_buffers_.emplace_back(
        Eigen::MatrixXf::Zero(parameter.value.rows(), parameter.value.cols()));
  }
}

void LocalTrainer::ApplyStep() {
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    float* const u = momentum_buffers_[p].data();
    float* const w = parameters_[p].value.data();
    const float* const g = parameters_[p].gradient.data();
    // One pass over the three arrays; as two matrix expressions it would read u twice.
    for (Eigen::Index i = 0; i < parameters_[p].value.size(); ++i) {
      u[i] = momentum_ * u[i] + g[i];
      w[i] -= learning_rate_ * u[i];
    }
  }
}

}  // namespace byte_lm
