#pragma once

// The part of CUDA that the kernels use, for the CPU's compiler (tests/emulated_gpu/grid.h): the
// language's words as macros, the functions of threads, and the runtime (streams.h, memory.h).

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tests/emulated_gpu/grid.h"
#include "tests/emulated_gpu/runtime.h"
#include "tests/emulated_gpu/streams.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
// Blocks run one after the other: a block finds here what the last one left.
#define __shared__ static

#define __syncthreads() weir::emulated::Barrier(__COUNTER__)

namespace weir::emulated {

/// Type of threadIdx.x and the like: looked up each time.
template <Size Place::*kSize>
struct Looked {
  struct X {
    // NOLINTNEXTLINE(google-explicit-constructor): threadIdx.x is a number.
    operator unsigned() const { return (Here().*kSize).x; }
  } x;
};

}  // namespace weir::emulated

inline constexpr weir::emulated::Looked<&weir::emulated::Place::thread> threadIdx{};
inline constexpr weir::emulated::Looked<&weir::emulated::Place::block> blockIdx{};
inline constexpr weir::emulated::Looked<&weir::emulated::Place::block_size> blockDim{};
inline constexpr weir::emulated::Looked<&weir::emulated::Place::grid_size> gridDim{};

inline void __syncwarp(std::uint32_t mask = ~0u) { weir::emulated::ExchangeInWarp(mask, 0); }

inline std::uint32_t __ballot_sync(std::uint32_t mask, bool predicate) {
  const std::uint64_t* const given = weir::emulated::ExchangeInWarp(mask, predicate ? 1 : 0);
  std::uint32_t ballot = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    ballot |= static_cast<std::uint32_t>(given[lane]) << lane;
  }
  return ballot;
}
inline bool __any_sync(std::uint32_t mask, bool predicate) {
  return __ballot_sync(mask, predicate) != 0;
}

namespace weir::emulated {

template <typename T>
T Shuffled(std::uint32_t mask, T value, unsigned lane) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t given = 0;
  std::memcpy(&given, &value, sizeof value);
  const std::uint64_t received = ExchangeInWarp(mask, given)[lane % kWarp];
  std::memcpy(&value, &received, sizeof value);
  return value;
}

template <typename T, typename Change>
T Changed(T* place, const Change& change) {
  const T old = *place;
  *place = change(old);
  return old;
}

}  // namespace weir::emulated

template <typename T>
T __shfl_sync(std::uint32_t mask, T value, int lane) {
  return weir::emulated::Shuffled(mask, value, static_cast<unsigned>(lane));
}
template <typename T>
T __shfl_xor_sync(std::uint32_t mask, T value, int bits) {
  return weir::emulated::Shuffled(mask, value, threadIdx.x ^ static_cast<unsigned>(bits));
}
template <typename T>
T __shfl_up_sync(std::uint32_t mask, T value, unsigned by) {
  const unsigned lane = threadIdx.x % 32;
  return weir::emulated::Shuffled(mask, value, lane < by ? lane : lane - by);
}
template <typename T>
T __shfl_down_sync(std::uint32_t mask, T value, unsigned by) {
  const unsigned lane = threadIdx.x % 32;
  return weir::emulated::Shuffled(mask, value, lane + by < 32 ? lane + by : lane);
}

inline int __popc(std::uint32_t bits) { return std::popcount(bits); }
inline int __ffs(int bits) {
  return bits == 0 ? 0 : std::countr_zero(static_cast<std::uint32_t>(bits)) + 1;
}
inline int __clz(int bits) { return std::countl_zero(static_cast<std::uint32_t>(bits)); }

template <typename T>
T __ldcs(const T* place) {
  return *place;
}
template <typename T>
void __stcs(T* place, T value) {
  *place = value;
}

template <typename T>
T atomicAdd(T* place, std::type_identity_t<T> value) {
  return weir::emulated::Changed(place, [&](T old) { return static_cast<T>(old + value); });
}
template <typename T>
T atomicMax(T* place, std::type_identity_t<T> value) {
  return weir::emulated::Changed(place, [&](T old) { return std::max(old, value); });
}
template <typename T>
T atomicOr(T* place, std::type_identity_t<T> value) {
  return weir::emulated::Changed(place, [&](T old) { return old | value; });
}

struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  const unsigned blocks = config->gridDim.x;
  const unsigned threads = config->blockDim.x;
  const auto launch = [=](Parameters... values) {
    return weir::emulated::Enqueue(config->stream, [=] {
      weir::emulated::RunGrid(blocks, threads, [&] { kernel(values...); });
    });
  };
  return launch(std::forward<Arguments>(arguments)...);
}
