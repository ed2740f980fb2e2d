#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "compression/cuda/device_array.h"
#include "compression/cuda/sparse/sparse_layout.h"
#include "compression/gpu/gpu_kernels.h"

namespace weir::cuda {

/// Merges the sparse parts of all ranks, tensor by tensor (compression/sparse_mean.h; the same
/// bits). Decodes them, one block per part, then adds them up in rank order, one block per tile, in
/// its shared memory. Writes each entry of the mean once.
class SparseMerge {
 public:
  SparseMerge();

  /// Makes room for so many parts, and entries of all together, so that Run does not wait.
  void Reserve(std::size_t tensors, std::size_t ranks, std::size_t entries, cudaStream_t stream);
  /// Merges a bucket's tensors, in their order.
  void Run(const SparseBucketView& bucket, std::span<const GpuMean> means, cudaStream_t stream);

  /// A sender's part of a tensor.
  struct Source {
    const std::byte* payload;
    std::uint32_t entries;
    std::uint64_t first;  ///< Index of its first decoded entry.
  };
  struct Target {
    void* mean;
    float gain;
    DType dtype;
  };

 private:
  SharedArray<Source> sources_;  ///< By tensor, then rank.
  SharedArray<Target> targets_;
  DeviceArray<std::uint32_t> indices_;  ///< Decoded.
  DeviceArray<float> values_;
};

}  // namespace weir::cuda
