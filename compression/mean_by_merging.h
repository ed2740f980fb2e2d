#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace weir {

/// Starts the mean from zeros, calls merge(payload, mean) for each payload that is not empty, and
/// divides by the number of them all. A faster MergeMean must give the same bits.
template <class Merge>
void MeanByMerging(std::span<const std::span<const std::byte>> payloads, std::span<float> mean,
                   const Merge& merge) {
  std::ranges::fill(mean, 0.0f);
  for (const auto& payload : payloads) {
    if (!payload.empty()) merge(payload, mean);
  }
  const auto ranks = static_cast<float>(payloads.size());
  for (float& value : mean) value /= ranks;
}

}  // namespace weir
