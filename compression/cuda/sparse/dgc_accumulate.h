#pragma once

#include <cuda_runtime.h>

#include "compression/cuda/sparse/sparse_layout.h"

namespace weir::cuda {

/// Makes the one pass over gradient, u and v of all tensors of a bucket: adds the gradients, marks
/// the entries of v that reach the threshold and counts them by tile. Moves 20 bytes an element of
/// fp32, and an eighth for the marks.
void AccumulateAndMark(const SparseBucketView& bucket, cudaStream_t stream);

}  // namespace weir::cuda
