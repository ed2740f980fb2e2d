#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "compression/cuda/sparse/sparse_layout.h"

namespace weir::cuda {

/// Finds the k largest of every tensor, exactly, ties to the lower index, after AccumulateAndMark:
/// among its candidates, or where these are too few or too many, in v itself. The winners lie in
/// index order in the lists of winners.
///
/// `storage` is for CUB's scans: a call with null says in `bytes` how much they need.
void SelectWinners(const SparseBucketView& bucket, void* storage, std::size_t& bytes,
                   cudaStream_t stream);

}  // namespace weir::cuda
