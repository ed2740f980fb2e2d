#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "examples/01-byte-lm/model.h"
#include "examples/01-byte-lm/trainer.h"

namespace byte_lm {

/// SGD with momentum in one process: `u = m*u + g; w -= rate*u`. Exchanges nothing, and applies
/// each gradient in ApplyStep. Every other trainer is compared with it.
class LocalTrainer : public Trainer {
 public:
  /// The parameters must outlive the trainer.
  LocalTrainer(std::span<Parameter> parameters, float momentum);

  int rank() const override { return 0; }
  int ranks() const override { return 1; }
  void BeginStep(float learning_rate) override { learning_rate_ = learning_rate; }
  void SubmitGradient(int) override {}
  void ApplyStep() override;
  double SumOverRanks(double value) override { return value; }
  ExchangeTotals totals() const override { return {}; }

 private:
  std::span<Parameter> parameters_;
  std::vector<Eigen::MatrixXf> momentum_buffers_;
  float momentum_;
  float learning_rate_ = 0.0f;
};

}  // namespace byte_lm
