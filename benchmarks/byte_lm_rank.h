#pragma once

#include <cstdint>
#include <functional>

#include "coordinator/engine/engine_impl.h"
#include "examples/01-byte-lm/data.h"
#include "examples/01-byte-lm/engine_trainer.h"
#include "examples/01-byte-lm/model.h"

namespace weir::bench {

/// A rank that trains the model of examples/01-byte-lm with DGC at 0.1 %. The text must outlive it.
class ByteLmRank {
 public:
  ByteLmRank(const Settings& settings, EngineEnvironment environment, int batch,
             const byte_lm::Text& text);

  /// Trains one step.
  void Train();

  // Trains the same step in parts: Forward, Backward, and ApplyStep of trainer().
  void Forward();
  /// Hands each complete gradient to `submit`, by the number of its parameter.
  void Backward(const std::function<void(int parameter)>& submit);

  byte_lm::EngineTrainer& trainer() { return trainer_; }
  const EngineImpl& engine() const { return engine_; }

  static constexpr float kLearningRate = 0.1f;

 private:
  EngineImpl engine_;
  byte_lm::Model model_;
  byte_lm::EngineTrainer trainer_;
  byte_lm::Sampler sampler_;
  byte_lm::Batch batch_;
  byte_lm::Activations activations_;
  std::int64_t step_ = 0;
};

}  // namespace weir::bench
