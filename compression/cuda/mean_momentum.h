#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "compression/cuda/gradient_types.h"
#include "compression/dgc/dgc_math.h"

/// DGC's momentum on means that came dense (compression/dgc/dense_momentum.h).
namespace weir::cuda {

/// What momentum makes of one entry of a mean, where a value that is not finite counts as 0;
/// without u, `u` is null.
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
  void* u;
  DType state;             ///< Of u.
  std::uint32_t rounding;  ///< RoundingKey, for kBFloat16.
  const float* mean;
  void* out;  ///< Or null.
  std::size_t n;
  DType dtype;
  unsigned long long* non_finite;  ///< Counts what was not.
};
void ApplyMomentum(const MeanMomentum& step, cudaStream_t stream);
/// Its kernel (Load).
void LoadApplyMomentum();

}  // namespace weir::cuda
