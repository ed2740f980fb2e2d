#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>

#include "compression/cuda/codecs/codec_layout.h"
#include "compression/cuda/device_array.h"
#include "compression/cuda/payload_table.h"
#include "compression/cuda/tile_table.h"
#include "compression/gpu/gpu_kernels.h"

namespace weir::cuda {

/// Common part of the codecs' buckets: the tensors' data on the GPU, and the dense phase.
/// All tensors have the same codec.
class CodecBucket : public GpuBucketCompressor {
 public:
  void Encode(std::span<const Input> inputs, void* stream) final;
  void Undo(void* stream) final;
  void ReserveMerge(std::span<const std::size_t> entries, std::size_t ranks, void* stream) final;
  void MergeMean(std::span<const GpuMean> means, void* stream) final;
  void Finish(std::size_t tensor, const DenseMean& mean, void* stream) final;
  void Forget(void* stream) override;
  void FetchReports(void* stream) final;
  Report ReportOf(std::size_t tensor) const final;

 protected:
  explicit CodecBucket(std::span<const GpuCodecTensor> tensors);

  const CodecTensor& tensor(std::size_t i) const { return tensors_.host()[i]; }
  std::size_t count() const { return tensors_.size(); }
  const TileTable& tiles() const { return tiles_; }  ///< As in CodecView.

 private:
  /// Adds the gradients to the memory, writes the payloads, and leaves in the
  /// errors what the payloads lack.
  virtual void Send(const CodecView& view, std::span<const Input> inputs, cudaStream_t stream) = 0;
  /// Adds the decoded payloads to the errors.
  virtual void PutBack(const CodecView& view, cudaStream_t stream) = 0;
  /// Makes room for what Merge needs beside the table of payloads: nothing, for most.
  virtual void Reserve(std::span<const std::size_t> /*entries*/, std::size_t /*ranks*/,
                       cudaStream_t /*stream*/) {}
  /// Compressor::MergeMean, and its Finish outside the dense phase.
  virtual void Merge(const CodecView& view, const CodecMeans& received,
                     std::span<const GpuMean> means, cudaStream_t stream) = 0;

  CodecView View() const;
  void CheckCount(std::size_t count) const;

  SharedArray<CodecTensor> tensors_;
  SharedArray<CodecInput> parts_;
  SharedArray<CodecMean> targets_;
  SharedArray<unsigned long long> non_finite_;
  PayloadTable payloads_;
  TileTable tiles_;
  SharedArray<std::uint32_t> first_tiles_;  ///< By tensor.
  bool sent_ = false;                       ///< True while Undo has something to put back.
};

// One function for each codec.
std::unique_ptr<GpuBucketCompressor> MakeCast(std::span<const GpuCodecTensor> tensors);
std::unique_ptr<GpuBucketCompressor> MakeOneBit(std::span<const GpuCodecTensor> tensors);
std::unique_ptr<GpuBucketCompressor> MakeInt8(std::span<const GpuCodecTensor> tensors);
std::unique_ptr<GpuBucketCompressor> MakeTopK(std::span<const GpuCodecTensor> tensors);
std::unique_ptr<GpuBucketCompressor> MakeRandomK(std::span<const GpuCodecTensor> tensors);
std::unique_ptr<GpuBucketCompressor> MakeLevels(std::span<const GpuCodecTensor> tensors);

/// Returns the number of elements of each tensor.
std::vector<std::size_t> ElementsOf(std::span<const GpuCodecTensor> tensors);

}  // namespace weir::cuda
