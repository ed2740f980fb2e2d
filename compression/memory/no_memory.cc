#include "compression/memory/no_memory.h"

#include <utility>

#include "common/check.h"
#include "compression/memory/finite.h"

namespace weir {

NoMemory::NoMemory(std::unique_ptr<const Codec> codec, std::size_t n)
    : codec_(std::move(codec)), scaled_(n) {}

std::size_t NoMemory::MaxEncodedBytes(double density) const {
  return codec_->MaxEncodedBytes(scaled_.size(), density);
}

std::size_t NoMemory::Encode(const StepContext& context, std::span<const float> gradient,
                             std::span<std::byte> payload) {
  WEIR_CHECK(gradient.size() == scaled_.size());
  std::uint32_t non_finite = 0;
  for (std::size_t i = 0; i < scaled_.size(); ++i) {
    scaled_[i] = FiniteOrZero(context.gradient_scale * gradient[i], non_finite);
  }
  non_finite_ += non_finite;
  return codec_->Encode(context, scaled_, payload);
}

void NoMemory::Check(std::span<const std::byte> payload) const {
  if (!payload.empty()) codec_->Check(payload, scaled_.size());
}

void NoMemory::Merge(std::span<const std::byte> payload, std::span<float> sum) const {
  WEIR_CHECK(sum.size() == scaled_.size());
  if (!payload.empty()) codec_->Merge(payload, sum);
}

}  // namespace weir
