#pragma once

#include <map>
#include <string>

#include "examples/01-byte-lm/model.h"
#include "examples/01-byte-lm/trainer.h"
#include "weir/optimizer.h"

namespace byte_lm {

/// Trains with the other ranks of the job: Weir exchanges the gradients during backprop.
class EngineTrainer : public Trainer {
 public:
  /// Collective. The engine and the parameters must outlive the trainer.
  EngineTrainer(weir::Engine& engine, std::span<Parameter> parameters, float momentum,
                const std::map<std::string, std::string>& compression);

  int rank() const override { return engine_.rank(); }
  int ranks() const override { return engine_.size(); }
  void BeginStep(float learning_rate) override { optimizer_.BeginStep(learning_rate); }
  void SubmitGradient(int parameter) override {
    optimizer_.GradientReady(static_cast<std::size_t>(parameter));
  }
  void ApplyStep() override;
  double SumOverRanks(double value) override;
  ExchangeTotals totals() const override { return totals_; }

 private:
  weir::Engine& engine_;
  weir::DistributedOptimizer optimizer_;
  ExchangeTotals totals_;
};

}  // namespace byte_lm
