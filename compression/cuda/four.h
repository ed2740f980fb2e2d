#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "compression/cuda/gradient_types.h"

/// Four neighbouring elements, which a thread reads and writes at once.
namespace weir::cuda {

inline constexpr unsigned kFour = 4;

struct Four {
  float x[kFour];
};

/// Four words of a type.
template <typename Word>
struct VectorOf {
  using Type = uint2;
};
template <>
struct VectorOf<float> {
  using Type = float4;
};

/// Loads data[at] and the three values that follow; 0 beyond n.
template <typename Type>
__device__ Four Load(const typename Type::Word* data, std::size_t at, std::size_t n) {
  using Word = typename Type::Word;
  using Vector = typename VectorOf<Word>::Type;
  static_assert(sizeof(Vector) == kFour * sizeof(Word));
  union {
    Vector vector;
    Word words[kFour];
  } loaded{};
  const Word* const from = data + at;
  if (at + kFour <= n && reinterpret_cast<std::uintptr_t>(from) % sizeof(Vector) == 0) {
    loaded.vector = *reinterpret_cast<const Vector*>(from);
  } else {
    for (unsigned i = 0; i < kFour; ++i) {
      loaded.words[i] = at + i < n ? from[i] : Word{};
    }
  }
  Four four;
  for (unsigned i = 0; i < kFour; ++i) four.x[i] = Type::Value(loaded.words[i]);
  return four;
}

/// Loads from data of any type; zeros where there are none.
__device__ inline Four LoadAny(const void* data, DType dtype, std::size_t at, std::size_t n) {
  if (data == nullptr) return {};
  switch (dtype) {
    case DType::kFloat16:
      return Load<Float16>(static_cast<const std::uint16_t*>(data), at, n);
    case DType::kBFloat16:
      return Load<BFloat16>(static_cast<const std::uint16_t*>(data), at, n);
    default:
      return Load<Float32>(static_cast<const float*>(data), at, n);
  }
}

/// Stores to data that begins at a multiple of 16 bytes.
__device__ inline void Store(const Four& four, float* data, std::size_t at, std::size_t n) {
  if (at + kFour <= n) {
    *reinterpret_cast<float4*>(data + at) = float4{four.x[0], four.x[1], four.x[2], four.x[3]};
    return;
  }
  for (unsigned i = 0; i < kFour && at + i < n; ++i) data[at + i] = four.x[i];
}

/// Stores as a type of 16 bits.
__device__ inline void StoreHalves(const Four& four, std::uint16_t* data, DType dtype,
                                   std::size_t at, std::size_t n) {
  union {
    uint2 vector;
    std::uint16_t words[kFour];
  } stored;
  for (unsigned i = 0; i < kFour; ++i) {
    stored.words[i] =
        dtype == DType::kFloat16 ? FloatToHalf(four.x[i]) : FloatToBFloat16(four.x[i]);
  }
  std::uint16_t* const to = data + at;
  if (at + kFour <= n && reinterpret_cast<std::uintptr_t>(to) % sizeof(uint2) == 0) {
    *reinterpret_cast<uint2*>(to) = stored.vector;
    return;
  }
  for (unsigned i = 0; i < kFour && at + i < n; ++i) to[i] = stored.words[i];
}

/// Stores as any type, at any multiple of its own size.
__device__ inline void StoreAny(const Four& four, void* data, DType dtype, std::size_t at,
                                std::size_t n) {
  if (dtype != DType::kFloat32) {
    return StoreHalves(four, static_cast<std::uint16_t*>(data), dtype, at, n);
  }
  auto* const floats = static_cast<float*>(data);
  if (reinterpret_cast<std::uintptr_t>(floats) % sizeof(float4) == 0) {
    return Store(four, floats, at, n);
  }
  for (unsigned i = 0; i < kFour && at + i < n; ++i) floats[at + i] = four.x[i];
}

}  // namespace weir::cuda
