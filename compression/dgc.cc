#include "compression/dgc.h"

#include <utility>

#include "common/check.h"
#include "compression/dense_momentum.h"
#include "compression/dgc_math.h"
#include "compression/sparse_mean.h"

namespace weir {

Dgc::Dgc(const DgcSettings& settings, std::size_t n)
    : settings_(settings),
      u_(settings.rule.momentum == Momentum::kNone ? 0 : n),
      v_(n),
      step_(settings.rule, u_.values(), v_.values()) {
  WEIR_CHECK(n >= 1);
}

std::size_t Dgc::MaxEncodedBytes(double density) const {
  const std::size_t n = v_.values().size();
  return SparsePayloadBytes(n, EntriesToSend(n, density), settings_.values);
}

std::size_t Dgc::Encode(const StepContext& context, std::span<const float> gradient,
                        std::span<std::byte> payload) {
  const std::size_t n = v_.values().size();
  WEIR_CHECK(!context.dense_phase);
  step_.Select(gradient, context.gradient_scale, EntriesToSend(n, context.density), context.pool);
  const std::size_t written =
      EncodeSparse(n, step_.indices(), step_.values(), settings_.values, payload);
  step_.Settle(context.pool);
  return written;
}

// Bounded by n, not by this step's K: a rank that has joined does not know the step's density.
SparseForm Dgc::Form() const {
  const std::size_t n = v_.values().size();
  return {n, n, settings_.values};
}

void Dgc::Check(std::span<const std::byte> payload) const {
  if (!payload.empty()) CheckSparse(payload, Form());
}

void Dgc::Merge(std::span<const std::byte> payload, std::span<float> sum) const {
  WEIR_CHECK(sum.size() == v_.values().size());
  if (!payload.empty()) MergeSparse(payload, Form(), sum);
}

void Dgc::MergeMean(std::span<const std::span<const std::byte>> payloads,
                    std::span<float> mean) const {
  WEIR_CHECK(mean.size() == v_.values().size());
  MergeSparseMean(payloads, Form(), mean);
}

SparseEntries Dgc::Entries(std::span<const std::byte> payload) const {
  return payload.empty() ? SparseEntries() : DecodeSparse(payload, Form());
}

void Dgc::Finish(const StepContext& context, std::span<float> mean) {
  const cpu::DgcRule& rule = settings_.rule;
  if (context.dense_phase) {
    non_finite_means_ += ApplyMomentum(rule.momentum, rule.m, u_.values(), mean);
  } else if (settings_.gain_compensation && rule.masking) {
    const auto gain = static_cast<float>(MaskingGain(rule.momentum, rule.m, 1.0 / context.density));
    for (float& x : mean) x /= gain;
  }
}

std::vector<Compressor::StateArray> Dgc::State() {
  std::vector<StateArray> state;
  if (settings_.rule.momentum != Momentum::kNone) state.push_back({"momentum", u_.values()});
  state.push_back({"velocity", v_.values()});
  return state;
}

}  // namespace weir
