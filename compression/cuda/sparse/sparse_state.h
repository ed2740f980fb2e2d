#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "compression/cuda/four.h"
#include "compression/cuda/gradient_types.h"
#include "compression/memory/state_rounding.h"

/// u and v, as fp32 or as randomly rounded bf16.
namespace weir::cuda {

/// Stores four neighbouring elements at a multiple of 16 bytes. Leaves in `four`
/// the values as they were rounded.
template <typename State>
__device__ void Keep(Four& four, void* state, std::size_t at, std::size_t n,
                     const std::uint32_t (&)[kFour]) {
  static_assert(sizeof(typename State::Word) == sizeof(float));
  Store(four, static_cast<float*>(state), at, n);
}
template <>
__device__ inline void Keep<BFloat16>(Four& four, void* state, std::size_t at, std::size_t n,
                                      const std::uint32_t (&bits)[kFour]) {
  union {
    uint2 vector;
    std::uint16_t words[kFour];
  } kept;
  for (unsigned i = 0; i < kFour; ++i) {
    kept.words[i] = RoundedAtRandom(four.x[i], bits[i]);
    four.x[i] = BFloat16ToFloat(kept.words[i]);
  }
  auto* const to = static_cast<std::uint16_t*>(state) + at;
  if (at + kFour <= n) {
    *reinterpret_cast<uint2*>(to) = kept.vector;
    return;
  }
  for (unsigned i = 0; i < kFour && at + i < n; ++i) to[i] = kept.words[i];
}

}  // namespace weir::cuda
