#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "compression/gpu/gpu_kernels.h"

/// Functions behind the entries of GpuKernels.
namespace weir::cuda {

void ToHalf(const float* values, std::uint16_t* halves, std::size_t n, DType half, void* stream);
void FromHalf(const std::uint16_t* halves, float* values, std::size_t n, DType half, void* stream);

std::unique_ptr<GpuNorms> MakeNorms(std::span<const std::size_t> elements);
std::unique_ptr<GpuPacking> MakePacking(std::span<const std::size_t> elements);
std::unique_ptr<GpuBucketCompressor> MakeDgc(std::span<const GpuDgcTensor> tensors);
std::unique_ptr<GpuBucketCompressor> MakeCodecs(std::span<const GpuCodecTensor> tensors);
std::unique_ptr<GpuBucketCompressor> MakeDenseMomentum(std::span<const GpuDenseTensor> tensors);

}  // namespace weir::cuda
