#include "compression/memory/no_memory.h"

#include <utility>

#include "common/check.h"
#include "compression/memory/finite.h"

namespace weir {

NoMemory::NoMemory(std::unique_ptr<const Codec> codec, std::size_t n)
    : AroundCodec(std::move(codec), n), scaled_(n) {}

void NoMemory::Scale(const StepContext& context, std::span<const float> gradient) {
  WEIR_CHECK(gradient.size() == scaled_.size());
  std::uint32_t non_finite = 0;
  for (std::size_t i = 0; i < scaled_.size(); ++i) {
    scaled_[i] = FiniteOrZero(context.gradient_scale * gradient[i], non_finite);
  }
  CountNonFinite(non_finite);
}

std::size_t NoMemory::Encode(const StepContext& context, std::span<const float> gradient,
                             std::span<std::byte> payload) {
  Scale(context, gradient);
  return codec().Encode(context, scaled_, payload);
}

std::span<const float> NoMemory::Drain(const StepContext& context, std::span<const float> gradient,
                                       DType) {
  Scale(context, gradient);
  return scaled_;
}

std::optional<GpuRule> NoMemory::gpu_rule() const {
  if (const std::optional<GpuCodecRule> rule = codec().gpu_rule()) return *rule;
  return std::nullopt;
}

}  // namespace weir
