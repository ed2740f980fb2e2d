#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <string>

namespace weir::cuda {

/// "" for success.
inline std::string TroubleOf(cudaError_t error) {
  return error == cudaSuccess ? "" : std::string("CUDA says: ") + cudaGetErrorString(error);
}

inline constexpr unsigned kThreads = 256;

/// Blocks for kernels whose threads go through n elements in strides of the whole grid. Enough to
/// fill a GPU of 160 processors with 8 blocks each: more would be launched in turns.
inline unsigned BlocksFor(std::size_t n) {
  constexpr std::size_t kMost = 160 * 8;
  return static_cast<unsigned>(std::clamp<std::size_t>((n + kThreads - 1) / kThreads, 1, kMost));
}

}  // namespace weir::cuda
