#include "compression/compressor.h"

#include <algorithm>

namespace weir {

void Compressor::MergeMean(std::span<const std::span<const std::byte>> payloads,
                           std::span<float> mean) const {
  std::ranges::fill(mean, 0.0f);
  for (const auto& payload : payloads) Merge(payload, mean);
  const auto ranks = static_cast<float>(payloads.size());
  for (float& value : mean) value /= ranks;
}

void Compressor::Finish(const StepContext&, std::span<float>) {}

}  // namespace weir
