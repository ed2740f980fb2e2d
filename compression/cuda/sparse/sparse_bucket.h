#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>
#include <vector>

#include "compression/cuda/device_array.h"
#include "compression/cuda/sparse/sparse_layout.h"
#include "compression/cuda/sparse/sparse_merge.h"
#include "compression/cuda/sparse/sparse_write.h"
#include "compression/gpu/gpu_kernels.h"

namespace weir::cuda {

/// Sends the largest entries accumulated in each tensor's v, as sparse parts. A step is Begin, a
/// pass that adds the gradients to v and marks (sparse_mark.h), and Send.
class SparseBucket {
 public:
  using Input = GpuBucketCompressor::Input;

  /// The pass handles the momentum of `tensors`, except for masking. `adds_back`: PutBack adds what
  /// was sent, as a codec's does, which turns -0 into 0.
  explicit SparseBucket(std::span<const GpuDgcTensor> tensors, bool adds_back = false);

  /// Makes room for this step's selections, and returns the data that the pass works on.
  SparseBucketView Begin(std::span<const Input> inputs, cudaStream_t stream);
  /// Selects the entries, writes the payloads, and subtracts them from v and u.
  void Send(cudaStream_t stream);
  /// Puts back what the last Send subtracted; no effect if that was done already.
  void PutBack(cudaStream_t stream);
  /// Leaves PutBack nothing to do.
  void ForgetSent() { sent_ = false; }
  /// Makes the next step start without a threshold.
  void ForgetThresholds(cudaStream_t stream);

  /// GpuBucketCompressor::ReserveMerge.
  void ReserveMerge(std::span<const std::size_t> entries, std::size_t ranks, cudaStream_t stream);
  void Merge(std::span<const GpuMean> means, cudaStream_t stream) {
    merge_.Run(View(), means, stream);
  }

  const SparseTensor& tensor(std::size_t i) const { return tensors_.host()[i]; }
  SharedArray<SparseStatus>& statuses() { return statuses_; }
  const SharedArray<SparseStatus>& statuses() const { return statuses_; }

 private:
  void DescribeTensors(std::span<const GpuDgcTensor> tensors, bool adds_back);
  void AllocateByTiles();
  /// Makes room for selections of these counts, if they differ from the last step's.
  void SetCounts(std::span<const Input> inputs, cudaStream_t stream);
  SparseBucketView View() const;
  std::size_t count() const { return statuses_.size(); }

  SharedArray<SparseTensor> tensors_;
  SharedArray<SparseInput> parts_;
  SharedArray<SparseStatus> statuses_;
  std::size_t tiles_ = 0;
  std::size_t runs_ = 0;
  SharedArray<std::uint32_t> tile_tensors_;
  SharedArray<std::uint32_t> run_tensors_;
  DeviceArray<std::uint32_t> marks_;
  DeviceArray<std::uint32_t> tile_counts_;
  DeviceArray<std::uint32_t> tile_offsets_;
  DeviceArray<std::uint32_t> histograms_;
  DeviceArray<unsigned long long> run_counts_;
  DeviceArray<unsigned long long> run_offsets_;
  DeviceArray<std::byte> scan_storage_;

  std::vector<std::size_t> counts_;  ///< k of the last step, by tensor.
  DeviceArray<std::uint32_t> candidate_indices_;
  DeviceArray<float> candidate_values_;
  DeviceArray<std::uint32_t> winner_indices_;
  DeviceArray<float> winner_values_;
  DeviceArray<float> old_u_;
  DeviceArray<float> old_v_;
  SharedArray<WriteJob> jobs_;
  bool sent_ = false;  ///< True while PutBack has something to put back.
  SparseMerge merge_;
};

}  // namespace weir::cuda
