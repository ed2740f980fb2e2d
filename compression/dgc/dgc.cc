#include "compression/dgc/dgc.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "compression/dgc/dense_momentum.h"
#include "compression/dgc/dgc_math.h"
#include "compression/dgc/drain.h"
#include "compression/memory/state_rounding.h"
#include "compression/sparse_mean.h"

namespace weir {

Dgc::Dgc(const DgcSettings& settings, std::size_t n)
    : settings_(settings),
      u_(settings.rule.momentum == Momentum::kNone ? 0 : n),
      v_(n),
      step_(settings.rule, u_.values(), v_.values()) {
  WEIR_CHECK(n >= 1);
  if (!settings.adam) return;
  WEIR_CHECK(settings.rule.momentum == Momentum::kNone);
  adam_.emplace(*settings.adam, n);
  adam_step_.resize(n);
}

std::size_t Dgc::MaxEncodedBytes(double density) const {
  const std::size_t n = v_.values().size();
  return SparsePayloadBytes(n, EntriesToSend(n, density), settings_.values);
}

std::size_t Dgc::Encode(const StepContext& context, std::span<const float> gradient,
                        std::span<std::byte> payload) {
  const std::size_t n = v_.values().size();
  WEIR_CHECK(!context.dense_phase);
  const Increment increment = IncrementOf(context, gradient);
  const std::size_t k = EntriesToSend(n, context.density);
  BeginAccumulation(context);
  if (settings_.state == DType::kFloat32) {
    step_.Select(increment.values, increment.scale, k, context.pool);
    EndAccumulation();
  } else {
    step_.Advance(increment.values, increment.scale, context.pool);
    EndAccumulation();
    RoundState(RoundingKey(settings_.seed, context.step, context.rank));
    step_.CollectAll();
    step_.TakeLargest(k);
  }
  return EncodeTaken(context, payload);
}

bool Dgc::drains() const {
  return !settings_.adam && !settings_.gain_compensation && settings_.state == DType::kFloat32;
}

std::span<const float> Dgc::Drain(const StepContext& context, std::span<const float> gradient,
                                  DType type) {
  WEIR_CHECK(drains() && !context.dense_phase);
  SettleDrain();
  if (marked_ == Marked::kOnly) {
    FillVelocity();
    CopyMarked();
  }
  FollowMomentum(context);
  step_.Forget();
  const bool empty = velocity_ == Velocity::kEmpty;
  const bool in_u =
      empty && settings_.rule.momentum == Momentum::kVanilla && type == DType::kFloat32;
  const DrainStep step{.momentum = settings_.rule.momentum,
                       .m = context.MomentumOr(settings_.rule.m),
                       .gradient_scale = context.gradient_scale,
                       .v_is_empty = empty};
  non_finite_ += AdvanceAll(step, gradient, u_.values(), v_.values(), context.pool);
  if (type == DType::kFloat32) {
    velocity_ = in_u ? Velocity::kSentFromU : Velocity::kSent;
    return in_u ? u_.values() : v_.values();
  }
  if (empty && settings_.rule.momentum == Momentum::kVanilla) {
    std::ranges::copy(u_.values(), v_.values().begin());
  }
  velocity_ = Velocity::kSentRounded;
  sent_as_ = type;
  return v_.values();
}

void Dgc::SettleDrain() {
  switch (velocity_) {
    case Velocity::kSent:
    case Velocity::kSentFromU:
      velocity_ = Velocity::kEmpty;
      break;
    case Velocity::kSentRounded:
      KeepRest(sent_as_, v_.values());
      velocity_ = Velocity::kKept;
      break;
    case Velocity::kKept:
    case Velocity::kEmpty:
      break;
  }
}

void Dgc::FillVelocity() {
  SettleDrain();
  if (velocity_ == Velocity::kEmpty) std::ranges::fill(v_.values(), 0.0f);
  velocity_ = Velocity::kKept;
}

void Dgc::Revert() {
  switch (velocity_) {
    case Velocity::kSentFromU:
      std::ranges::copy(u_.values(), v_.values().begin());
      break;
    case Velocity::kSent:
    case Velocity::kSentRounded:
      break;
    case Velocity::kKept:
    case Velocity::kEmpty:
      return step_.Undo();
  }
  velocity_ = Velocity::kKept;
}

std::span<const float> Dgc::residual() const {
  // What is drained is measured by nobody.
  return velocity_ == Velocity::kKept ? v_.values() : std::span<const float>();
}

void Dgc::RoundState(std::uint32_t key) {
  const std::span<float> u = u_.values();
  const std::span<float> v = v_.values();
  for (std::size_t i = 0; i < v.size(); ++i) {
    const std::uint32_t bits = RoundingBits(key, static_cast<std::uint32_t>(i));
    if (!u.empty()) u[i] = BFloat16ToFloat(RoundedAtRandom(u[i], BitsForMomentum(bits)));
    v[i] = BFloat16ToFloat(RoundedAtRandom(v[i], BitsForVelocity(bits)));
  }
}

void Dgc::Restored() {
  step_.Forget();
  velocity_ = Velocity::kKept;
  if (settings_.state == DType::kFloat32) return;
  for (const std::span<float> state : {u_.values(), v_.values()}) {
    for (float& x : state) x = BFloat16ToFloat(FloatToBFloat16(x));
  }
}

SparseForm Dgc::form() const {
  const std::size_t n = v_.values().size();
  return {n, n, settings_.values};
}

void Dgc::Accumulate(const StepContext& context, std::span<const float> gradient, std::size_t k,
                     std::optional<float> threshold) {
  WEIR_CHECK(!context.dense_phase);
  const Increment increment = IncrementOf(context, gradient);
  BeginAccumulation(context);
  step_.Accumulate(increment.values, increment.scale, k, threshold, context.pool);
  EndAccumulation();
}

void Dgc::Mark() {
  if (adam_) return Compressor::Mark();
  FillVelocity();
  if (!other_v_) {
    other_u_.emplace(u_.values().size());
    other_v_.emplace(v_.values().size());
  }
  marked_ = Marked::kOnly;
}

void Dgc::BeginAccumulation(const StepContext& context) {
  FillVelocity();
  step_.set_momentum(context.MomentumOr(settings_.rule.m));
  FollowMomentum(context);
  if (marked_ == Marked::kOnly) step_.WriteTo(other_u_->values(), other_v_->values());
}

void Dgc::CopyMarked() {
  std::ranges::copy(u_.values(), other_u_->values().begin());
  std::ranges::copy(v_.values(), other_v_->values().begin());
  marked_ = Marked::kApart;
}

void Dgc::FollowMomentum(const StepContext& context) {
  // Nesterov's u is the sum of gradients times the momentum of its time.
  const auto ratio = static_cast<float>(context.momentum_ratio);
  if (settings_.rule.momentum != Momentum::kNesterov || ratio == 1.0f) return;
  if (marked_ == Marked::kOnly) CopyMarked();
  for (float& u : u_.values()) u *= ratio;
}

void Dgc::EndAccumulation() {
  if (marked_ != Marked::kOnly) return;
  std::swap(u_, *other_u_);
  std::swap(v_, *other_v_);
  marked_ = Marked::kApart;
}

void Dgc::GoBack() {
  if (adam_) return Compressor::GoBack();
  WEIR_CHECK(marked_ != Marked::kNot);
  velocity_ = Velocity::kKept;
  if (marked_ == Marked::kApart) {
    std::swap(u_, *other_u_);
    std::swap(v_, *other_v_);
    step_.Use(u_.values(), v_.values());
  } else if (marked_ == Marked::kCopied) {
    std::ranges::copy(other_u_->values(), u_.values().begin());
  }
  marked_ = Marked::kOnly;
  step_.Forget();
}

Dgc::Increment Dgc::IncrementOf(const StepContext& context, std::span<const float> gradient) {
  if (!adam_) return {gradient, context.gradient_scale};
  non_finite_ += adam_->Advance(context.learning_rate, context.gradient_scale, gradient, adam_step_,
                                context.pool, context.momentum);
  return {adam_step_, 1.0f};
}

std::size_t Dgc::EncodeTaken(const StepContext& context, std::span<std::byte> payload) {
  const std::size_t written =
      EncodeSparse(v_.values().size(), step_.indices(), step_.values(), settings_.values, payload);
  step_.Settle(context.pool);
  return written;
}

void Dgc::Check(std::span<const std::byte> payload) const {
  if (!payload.empty()) CheckSparse(payload, form());
}

void Dgc::Merge(std::span<const std::byte> payload, std::span<float> sum) const {
  WEIR_CHECK(sum.size() == v_.values().size());
  if (!payload.empty()) MergeSparse(payload, form(), sum);
}

void Dgc::MergeMean(std::span<const std::span<const std::byte>> payloads,
                    std::span<float> mean) const {
  WEIR_CHECK(mean.size() == v_.values().size());
  MergeSparseMean(payloads, form(), mean);
}

SparseEntries Dgc::Entries(std::span<const std::byte> payload) const {
  return payload.empty() ? SparseEntries() : DecodeSparse(payload, form());
}

void Dgc::Finish(const StepContext& context, std::span<float> mean) {
  const cpu::DgcRule& rule = settings_.rule;
  if (context.dense_phase) {
    if (marked_ == Marked::kOnly) {  // This changes u alone.
      std::ranges::copy(u_.values(), other_u_->values().begin());
      marked_ = Marked::kCopied;
    }
    FollowMomentum(context);
    non_finite_ +=
        adam_ ? adam_->Advance(context.learning_rate, 1.0f, mean, mean, context.pool,
                               context.momentum)
              : ApplyMomentum(rule.momentum, context.MomentumOr(rule.m), u_.values(), mean);
    // Means are equal on all ranks, and u must be too.
    if (settings_.state != DType::kFloat32)
      RoundState(RoundingKey(settings_.seed, context.step, 0));
  } else if (settings_.gain_compensation && rule.masking == Masking::kAll) {
    const auto gain = static_cast<float>(
        MaskingGain(rule.momentum, context.MomentumOr(rule.m), 1.0 / context.density));
    for (float& x : mean) x /= gain;
  }
}

std::optional<GpuRule> Dgc::gpu_rule() const {
  if (settings_.adam || settings_.joint || IsLowBit(settings_.values)) return std::nullopt;
  return GpuDgcRule{
      .momentum = settings_.rule.momentum,
      .m = settings_.rule.m,
      .masking = settings_.rule.masking,
      .gain_compensation = settings_.gain_compensation && settings_.rule.masking == Masking::kAll,
      .values = settings_.values,
      .state = settings_.state,
      .seed = settings_.seed};
}

std::vector<Compressor::StateArray> Dgc::State() {
  FillVelocity();
  std::vector<StateArray> state;
  if (settings_.rule.momentum != Momentum::kNone) state.push_back({"momentum", u_.values()});
  if (adam_) adam_->AppendState(state);
  state.push_back({"velocity", v_.values()});
  return state;
}

}  // namespace weir
