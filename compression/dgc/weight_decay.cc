#include "compression/dgc/weight_decay.h"

#include "common/check.h"

namespace weir {

WeightDecay::WeightDecay(Momentum momentum, float m, float lambda, std::size_t n)
    : momentum_(momentum), m_(m), lambda_(lambda), b_(momentum == Momentum::kNone ? 0 : n) {}

void WeightDecay::Apply(std::span<const float> weights, std::span<float> direction) {
  const std::span<float> b = b_.values();
  WEIR_CHECK(weights.size() == direction.size());
  WEIR_CHECK(momentum_ == Momentum::kNone || b.size() == weights.size());
  float none = 0.0f;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    direction[i] += AdvanceMomentum(momentum_, m_, lambda_ * weights[i], b.empty() ? none : b[i]);
  }
}

void AddLocalWeightDecay(std::span<const float> weights, float lambda, std::span<float> gradient) {
  WEIR_CHECK(weights.size() == gradient.size());
  for (std::size_t i = 0; i < weights.size(); ++i) gradient[i] += lambda * weights[i];
}

}  // namespace weir
