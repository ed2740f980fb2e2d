#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace weir::cuda {

/// Throws CUDA's message, unless the code is success.
inline void Check(cudaError_t error) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // Clears the error, or this thread's next call would report it again.
  throw std::runtime_error(std::string("CUDA says: ") + cudaGetErrorString(error));
}

inline constexpr unsigned kThreads = 256;
inline constexpr unsigned kWarp = 32;
inline constexpr unsigned kAllLanes = ~0u;

/// Launches kernel<<<blocks, kThreads>>>(arguments...); does nothing for 0 blocks.
template <typename... Parameters, typename... Arguments>
void Launch(void (*kernel)(Parameters...), std::size_t blocks, cudaStream_t stream,
            Arguments&&... arguments) {
  if (blocks == 0) return;
  cudaLaunchConfig_t config{};
  config.gridDim.x = static_cast<unsigned>(blocks);
  config.blockDim.x = kThreads;
  config.stream = stream;
  Check(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...));
}

/// Loads a kernel now. CUDA would load it at its first launch, and may then wait for all running
/// kernels (CUDA C++ Programming Guide, "Lazy Loading"): after a collective, for other ranks.
template <typename... Parameters>
void Load(void (*kernel)(Parameters...)) {
  cudaFuncAttributes attributes{};
  Check(cudaFuncGetAttributes(&attributes, kernel));
}

/// Number of blocks for kernels whose threads stride through n elements. Enough to fill a GPU of
/// 160 processors with 8 blocks each: more would be launched in turns.
inline std::size_t BlocksFor(std::size_t n) {
  constexpr std::size_t kMost = 160 * 8;
  return std::min<std::size_t>((n + kThreads - 1) / kThreads, kMost);
}

}  // namespace weir::cuda
