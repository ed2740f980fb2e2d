#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "compression/cuda/sparse/sparse_layout.h"

namespace weir::cuda {

/// Finds the k largest of every tensor, exactly, ties to the lower index, after
/// AccumulateAndMark: among its candidates, or in v itself where these are too few or too many.
/// The lists of winners are in index order.
///
/// `storage` is for CUB's scans: a call with null stores their size in `bytes`.
void SelectWinners(const SparseBucketView& bucket, void* storage, std::size_t& bytes,
                   cudaStream_t stream);

}  // namespace weir::cuda
