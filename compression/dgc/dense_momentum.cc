#include "compression/dgc/dense_momentum.h"

#include <algorithm>

#include "common/check.h"
#include "compression/dgc/drain.h"

namespace weir {
namespace {

template <Momentum kMomentum>
std::uint64_t Apply(float m, std::span<float> u, std::span<float> mean) {
  std::uint64_t non_finite = 0;
  float none = 0.0f;
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const bool finite = IsFinite(mean[i]);
    non_finite += finite ? 0 : 1;
    const float g = finite ? mean[i] : 0.0f;
    mean[i] = AdvanceMomentum(kMomentum, m, g, kMomentum == Momentum::kNone ? none : u[i]);
  }
  return non_finite;
}

}  // namespace

std::uint64_t ApplyMomentum(Momentum momentum, float m, std::span<float> u, std::span<float> mean) {
  WEIR_CHECK(u.size() == (momentum == Momentum::kNone ? 0 : mean.size()));
  switch (momentum) {
    case Momentum::kVanilla:
      return Apply<Momentum::kVanilla>(m, u, mean);
    case Momentum::kNesterov:
      return Apply<Momentum::kNesterov>(m, u, mean);
    case Momentum::kNone:
      break;
  }
  return Apply<Momentum::kNone>(m, u, mean);
}

DenseMomentum::DenseMomentum(Momentum momentum, float m, ValueType values, std::size_t n)
    : momentum_(momentum),
      m_(m),
      type_(values),
      u_(momentum == Momentum::kNone ? 0 : n),
      error_(n),
      sent_(n),
      before_(n) {}

DenseMomentum::DenseMomentum(const AdamSettings& adam, ValueType values, std::size_t n)
    : DenseMomentum(Momentum::kNone, 0.0f, values, n) {
  adam_.emplace(adam, n);
}

std::size_t DenseMomentum::MaxEncodedBytes(double) const {
  return DensePayloadBytes(sent_.size(), type_);
}

void DenseMomentum::Accumulate(const StepContext& context, std::span<const float> gradient) {
  const std::span<float> error = error_.values();
  WEIR_CHECK(gradient.size() == error.size());
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const float scaled = gradient[i] * context.gradient_scale;
    const bool finite = IsFinite(scaled);
    error[i] += finite ? scaled : 0.0f;
    const bool overflow = !IsFinite(error[i]);
    if (overflow) error[i] = 0.0f;
    non_finite_ += finite && !overflow ? 0 : 1;
    before_[i] = error[i];
  }
}

std::span<const float> DenseMomentum::Drain(const StepContext& context,
                                            std::span<const float> gradient, DType type) {
  Accumulate(context, gradient);
  if (type == DType::kFloat32) {
    std::ranges::fill(error_.values(), 0.0f);
  } else {
    KeepRest(type, error_.values());
  }
  sent_anything_ = true;
  return before_;
}

std::size_t DenseMomentum::Encode(const StepContext& context, std::span<const float> gradient,
                                  std::span<std::byte> payload) {
  Accumulate(context, gradient);
  const std::span<float> error = error_.values();
  std::ranges::copy(before_, sent_.begin());
  const std::size_t written = EncodeDense(sent_, type_, payload);
  for (std::size_t i = 0; i < sent_.size(); ++i) error[i] -= sent_[i];
  sent_anything_ = true;
  return written;
}

void DenseMomentum::Check(std::span<const std::byte> payload) const {
  if (!payload.empty()) CheckDense(payload, sent_.size(), type_);
}

void DenseMomentum::Merge(std::span<const std::byte> payload, std::span<float> sum) const {
  WEIR_CHECK(sum.size() == sent_.size());
  if (!payload.empty()) MergeDense(payload, type_, sum);
}

SparseEntries DenseMomentum::Entries(std::span<const std::byte> payload) const {
  return payload.empty() ? SparseEntries() : DecodeDense(payload, sent_.size(), type_);
}

void DenseMomentum::Finish(const StepContext& context, std::span<float> mean) {
  if (momentum_ == Momentum::kNesterov && context.momentum_ratio != 1.0) {  // As Dgc's.
    for (float& u : u_.values()) u *= static_cast<float>(context.momentum_ratio);
  }
  non_finite_ += adam_ ? adam_->Advance(context.learning_rate, 1.0f, mean, mean, context.pool,
                                        context.momentum)
                       : ApplyMomentum(momentum_, context.MomentumOr(m_), u_.values(), mean);
}

void DenseMomentum::Revert() {
  if (!sent_anything_) return;
  // Adding the sent values back would be right for fp16 alone. Far from its low-bit
  // value, a difference was rounded.
  std::ranges::copy(before_, error_.values().begin());
  sent_anything_ = false;
}

std::optional<GpuRule> DenseMomentum::gpu_rule() const {
  if (adam_ || IsLowBit(type_) || sent_.empty()) return std::nullopt;
  return GpuDenseRule{.momentum = momentum_, .m = m_, .values = type_};
}

std::vector<Compressor::StateArray> DenseMomentum::State() {
  std::vector<StateArray> state;
  if (momentum_ != Momentum::kNone) state.push_back({"momentum", u_.values()});
  if (adam_) adam_->AppendState(state);
  state.push_back({"error", error_.values()});
  return state;
}

}  // namespace weir
