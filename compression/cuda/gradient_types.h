#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "common/half.h"
#include "weir/dtype.h"

/// Types of gradients and updates in memory.
namespace weir::cuda {

struct Float32 {
  using Word = float;
  static __device__ float Value(float word) { return word; }
};
struct Float16 {
  using Word = std::uint16_t;
  static __device__ float Value(std::uint16_t word) { return HalfToFloat(word); }
};
struct BFloat16 {
  using Word = std::uint16_t;
  static __device__ float Value(std::uint16_t word) { return BFloat16ToFloat(word); }
};

/// Returns one value of data of this type.
__device__ inline float ValueAt(const void* data, std::size_t i, DType dtype) {
  if (dtype == DType::kFloat32) return static_cast<const float*>(data)[i];
  const std::uint16_t word = static_cast<const std::uint16_t*>(data)[i];
  return dtype == DType::kFloat16 ? HalfToFloat(word) : BFloat16ToFloat(word);
}
/// Returns the address of value i.
__device__ inline const void* PlaceOf(const void* data, std::size_t i, DType dtype) {
  const std::size_t width = dtype == DType::kFloat32 ? sizeof(float) : sizeof(std::uint16_t);
  return static_cast<const std::byte*>(data) + i * width;
}
__device__ inline void SetValue(void* data, std::size_t i, DType dtype, float value) {
  if (dtype == DType::kFloat32) {
    static_cast<float*>(data)[i] = value;
  } else {
    static_cast<std::uint16_t*>(data)[i] =
        dtype == DType::kFloat16 ? FloatToHalf(value) : FloatToBFloat16(value);
  }
}

}  // namespace weir::cuda
