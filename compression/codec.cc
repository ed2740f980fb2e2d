#include "compression/codec.h"

#include <algorithm>

namespace weir {

std::size_t Codec::EncodeAndSubtract(const StepContext& context, std::span<float> rest,
                                     std::span<std::byte> payload) const {
  const std::size_t size = Encode(context, rest, payload);
  Subtract(payload.first(size), rest);
  return size;
}

void Codec::MergeMean(std::span<const std::span<const std::byte>> payloads,
                      std::span<float> mean) const {
  std::ranges::fill(mean, 0.0f);
  for (const auto& payload : payloads) {
    if (!payload.empty()) Merge(payload, mean);
  }
  const auto ranks = static_cast<float>(payloads.size());
  for (float& value : mean) value /= ranks;
}

}  // namespace weir
