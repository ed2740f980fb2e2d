#include "compression/memory/error_feedback.h"

#include <utility>

#include "common/check.h"

namespace weir {

float ErrorRatio(const StepContext& context) {
  if (context.learning_rate == 0.0f || context.previous_learning_rate == 0.0f) return 1.0f;
  return context.previous_learning_rate / context.learning_rate;
}

ErrorFeedback::ErrorFeedback(std::unique_ptr<const Codec> codec, std::size_t n)
    : AroundCodec(std::move(codec), n), error_(n) {}

std::size_t ErrorFeedback::Encode(const StepContext& context, std::span<const float> gradient,
                                  std::span<std::byte> payload) {
  WEIR_CHECK(gradient.size() == error_.size());
  const ErrorStep step{gradient, context.gradient_scale, ErrorRatio(context)};
  const auto [size, non_finite] = codec().EncodeWithFeedback(context, step, error_, payload);
  CountNonFinite(non_finite);
  sent_.assign(payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(size));
  return size;
}

void ErrorFeedback::Revert() {
  if (!sent_.empty()) codec().Merge(sent_, error_);
  sent_.clear();
}

std::optional<GpuRule> ErrorFeedback::gpu_rule() const {
  std::optional<GpuCodecRule> rule = codec().gpu_rule();
  if (!rule) return std::nullopt;
  rule->feedback = true;
  return *rule;
}

std::vector<Compressor::StateArray> ErrorFeedback::State() { return {{"error", error_}}; }

}  // namespace weir
