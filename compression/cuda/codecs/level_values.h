#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "compression/codecs/level_math.h"
#include "compression/cuda/launch.h"

/// Values of levels, in the shared memory of a block.
namespace weir::cuda {

inline constexpr unsigned kLevelValues = kMostLevels + 2;  ///< Magnitudes that fit 8 bits.

/// Fills the table by magnitude, with a payload's scale. All threads call it.
__device__ inline void FillTable(const LevelRule& rule, const std::byte* payload, float* table) {
  const float scale = *reinterpret_cast<const float*>(payload);
  for (unsigned level = threadIdx.x; level < kLevelValues; level += kThreads) {
    const bool is_one = level <= static_cast<unsigned>(rule.levels);
    table[level] = is_one ? LevelValue(rule, scale, static_cast<int>(level)) : 0.0f;
  }
}
__device__ inline float ValueIn(const float* table, int level) {
  return level < 0 ? -table[-level] : table[level];
}

}  // namespace weir::cuda
