#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "compression/cuda/gradient_types.h"
#include "compression/dgc_math.h"

/// DGC's momentum on means that came dense (compression/dense_momentum.h).
namespace weir::cuda {

/// What momentum makes of one entry of a mean, where a value that is not finite counts as 0.
__device__ inline float Direction(Momentum momentum, float m, float mean, float* u,
                                  unsigned long long* non_finite) {
  const bool finite = IsFinite(mean);
  if (!finite) atomicAdd(non_finite, 1ull);
  float none = 0.0f;
  return AdvanceMomentum(momentum, m, finite ? mean : 0.0f, u == nullptr ? none : *u);
}

/// A whole one: `out`, n values of `dtype`, becomes ApplyMomentum of `mean`.
struct MeanMomentum {
  Momentum momentum;
  float m;
  float* u;
  const float* mean;
  void* out;  ///< Or null.
  std::size_t n;
  DType dtype;
  unsigned long long* non_finite;  ///< Counts what was not.
};
void ApplyMomentum(const MeanMomentum& step, cudaStream_t stream);

/// GpuBucketCompressor::Finish of a tensor that has momentum, m, u and n.
template <typename Tensor>
void FinishMean(const Tensor& tensor, const float* mean, void* out, DType dtype,
                unsigned long long* non_finite, void* stream) {
  ApplyMomentum({.momentum = tensor.momentum,
                 .m = tensor.m,
                 .u = tensor.u,
                 .mean = mean,
                 .out = out,
                 .n = tensor.n,
                 .dtype = dtype,
                 .non_finite = non_finite},
                static_cast<cudaStream_t>(stream));
}

}  // namespace weir::cuda
