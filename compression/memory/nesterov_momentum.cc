#include "compression/memory/nesterov_momentum.h"

#include <utility>

#include "common/check.h"
#include "compression/memory/step_math.h"
#include "compression/momentum.h"

namespace weir {

NesterovMomentum::NesterovMomentum(std::unique_ptr<Compressor> inner, std::size_t n, float mu)
    : inner_(std::move(inner)), mu_(mu), momentum_(n), direction_(n) {}

std::size_t NesterovMomentum::MaxEncodedBytes(double density) const {
  return inner_->MaxEncodedBytes(density);
}

void NesterovMomentum::Step(float mu, float scale, std::span<const float> gradient,
                            std::span<float> out) {
  WEIR_CHECK(gradient.size() == momentum_.size());
  std::uint32_t non_finite = 0;
  for (std::size_t i = 0; i < momentum_.size(); ++i) {
    const float scaled = FiniteOrZero(scale * gradient[i], non_finite);
    out[i] = AdvanceNesterov(mu, scaled, momentum_[i], non_finite);
  }
  non_finite_ += non_finite;
}

std::size_t NesterovMomentum::Encode(const StepContext& context, std::span<const float> gradient,
                                     std::span<std::byte> payload) {
  Step(context.MomentumOr(mu_), context.gradient_scale, gradient, direction_);
  StepContext inner = context;
  inner.gradient_scale = 1.0f;
  return inner_->Encode(inner, direction_, payload);
}

void NesterovMomentum::Check(std::span<const std::byte> payload) const { inner_->Check(payload); }

void NesterovMomentum::Merge(std::span<const std::byte> payload, std::span<float> sum) const {
  inner_->Merge(payload, sum);
}

void NesterovMomentum::MergeMean(std::span<const std::span<const std::byte>> payloads,
                                 std::span<float> mean) const {
  inner_->MergeMean(payloads, mean);
}

void NesterovMomentum::Finish(const StepContext& context, std::span<float> mean) {
  if (context.dense_phase) Step(context.MomentumOr(mu_), 1.0f, mean, mean);
  inner_->Finish(context, mean);
}

std::optional<GpuRule> NesterovMomentum::gpu_rule() const {
  std::optional<GpuRule> rule = inner_->gpu_rule();
  if (auto* const codec = rule ? std::get_if<GpuCodecRule>(&*rule) : nullptr) {
    codec->memory = GpuCodecRule::Memory::kNesterov;
    codec->mu = mu_;
    return rule;
  }
  return std::nullopt;
}

std::uint64_t NesterovMomentum::non_finite_entries() const {
  return non_finite_ + inner_->non_finite_entries();
}

std::vector<Compressor::StateArray> NesterovMomentum::State() {
  std::vector<StateArray> state = {{"momentum", momentum_}};
  for (StateArray& array : inner_->State()) state.push_back(std::move(array));
  return state;
}

}  // namespace weir
