#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "compression/cuda/device_array.h"
#include "compression/gpu/gpu_kernels.h"

namespace weir::cuda {

/// Addresses of the payloads of all ranks, by tensor, then rank; null for a rank that sent nothing.
class PayloadTable {
 public:
  /// Makes room, so that Set of as many does not wait.
  void Reserve(std::size_t tensors, std::size_t ranks, cudaStream_t stream) {
    if (payloads_.size() == tensors * ranks) return;
    Check(cudaStreamSynchronize(stream));  // The stream may still read what is freed here.
    payloads_ = SharedArray<const std::byte*>(tensors * ranks);
  }
  void Set(std::span<const GpuMean> means, cudaStream_t stream) {
    const std::size_t ranks = means.front().payloads.size();
    Reserve(means.size(), ranks, stream);
    for (std::size_t i = 0; i < means.size(); ++i) {
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        payloads_.host()[i * ranks + rank] = means[i].payloads[rank].bytes;
      }
    }
    payloads_.Upload(stream);
    ranks_ = static_cast<std::uint32_t>(ranks);
  }

  const std::byte* const* device() const { return payloads_.device(); }
  std::uint32_t ranks() const { return ranks_; }

 private:
  SharedArray<const std::byte*> payloads_;
  std::uint32_t ranks_ = 0;
};

}  // namespace weir::cuda
