#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "compression/cuda/gradient_types.h"
#include "compression/dgc/dgc_math.h"

/// DGC's momentum on means that were exchanged dense (compression/dgc/dense_momentum.h).
namespace weir::cuda {

/// Applies momentum to one entry of a mean; a value that is not finite counts as 0. `u`
/// is null for momentum without u.
__device__ inline float Direction(Momentum momentum, float m, float mean, float* u,
                                  unsigned long long* non_finite) {
  const bool finite = IsFinite(mean);
  if (!finite) atomicAdd(non_finite, 1ull);
  float none = 0.0f;
  return AdvanceMomentum(momentum, m, finite ? mean : 0.0f, u == nullptr ? none : *u);
}

/// One tensor: `out`, n values of `dtype`, becomes ApplyMomentum of `mean`.
struct MeanMomentum {
  Momentum momentum;
  float m;
  void* u;
  DType state;             ///< Type of u.
  std::uint32_t rounding;  ///< RoundingKey, for kBFloat16.
  const float* mean;
  void* out;  ///< Or null.
  std::size_t n;
  DType dtype;
  unsigned long long* non_finite;  ///< Counts the non-finite values.
};
void ApplyMomentum(const MeanMomentum& step, cudaStream_t stream);
/// Loads the kernel of ApplyMomentum (Load).
void LoadApplyMomentum();

}  // namespace weir::cuda
