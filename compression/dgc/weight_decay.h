#pragma once

#include <cstddef>
#include <span>

#include "compression/dgc/dgc_math.h"
#include "compression/memory/state_buffer.h"

namespace weir {

/// Weight decay outside compression: its own momentum b, driven by lambda * w, whose
/// direction is added to the compressed result. Together they are exactly the weight-decay
/// part of dense momentum SGD; plain lambda * w after the exchange would lose its 1 / (1 -
/// m). One tensor; not thread-safe.
class WeightDecay {
 public:
  WeightDecay(Momentum momentum, float m, float lambda, std::size_t n);

  /// direction += the decay's own direction: b, or b + lambda * w with Nesterov, or lambda * w
  /// without momentum.
  void Apply(std::span<const float> weights, std::span<float> direction);

  /// b, for saving and restoring; empty with Momentum::kNone.
  std::span<float> momentum() { return b_.values(); }

 private:
  Momentum momentum_;
  float m_;
  float lambda_;
  StateBuffer b_;
};

/// Paddle's form, weight_decay_form = "local": gradient += lambda * w, before compression.
void AddLocalWeightDecay(std::span<const float> weights, float lambda, std::span<float> gradient);

}  // namespace weir
