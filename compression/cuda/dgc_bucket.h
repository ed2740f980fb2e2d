#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>
#include <vector>

#include "compression/cuda/device_array.h"
#include "compression/cuda/dgc_layout.h"
#include "compression/cuda/sparse_merge.h"
#include "compression/cuda/sparse_write.h"
#include "compression/gpu_kernels.h"

namespace weir::cuda {

/// Deep Gradient Compression: what lies on the GPU, and the order of the launches.
class DgcBucket final : public GpuBucketCompressor {
 public:
  explicit DgcBucket(std::span<const GpuDgcTensor> tensors);

  void Encode(std::span<const Part> parts, void* stream) override;
  void Undo(void* stream) override;
  void MergeMean(std::span<const GpuMean> means, void* stream) override;
  void Finish(std::size_t tensor, const float* mean, void* out, DType dtype, void* stream) override;
  void Forget(void* stream) override;
  void FetchReports(void* stream) override;
  Report ReportOf(std::size_t tensor) const override;

 private:
  void DescribeTensors(std::span<const GpuDgcTensor> tensors);
  void AllocateByTiles();
  /// Makes room for selections of these counts, if they are other ones than in the last step.
  void SetCounts(std::span<const Part> parts, cudaStream_t stream);
  DgcBucketView View() const;
  std::size_t count() const { return statuses_.size(); }

  SharedArray<DgcTensor> tensors_;
  SharedArray<DgcPart> parts_;
  SharedArray<DgcStatus> statuses_;
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
  bool sent_ = false;  ///< Undo has something to put back.
  SparseMerge merge_;
};

}  // namespace weir::cuda
