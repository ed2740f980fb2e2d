#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/gpu/gpu.h"
#include "common/gpu/gpu_memory.h"
#include "common/gpu/gpu_stream.h"
#include "compression/compressor.h"
#include "compression/gpu/gpu_kernels.h"
#include "compression/tensor_compression.h"

namespace weir {

/// A tensor's compression whose memory lies on a GPU. The kernels of its bucket encode there, for
/// all tensors of the bucket at once (coordinator/gradients/gpu_compression.h). Payloads are those
/// of the CPU's compressor, which reads them on the host; between steps, State is a copy on the
/// host, which Restored copies back. Not thread-safe except Check and Merge.
class GpuCompressor final : public TensorCompression {
 public:
  /// Requires that `cpu`, of `n` elements, has a gpu_rule. Its state is not taken over.
  GpuCompressor(std::unique_ptr<Compressor> cpu, std::size_t n, const Gpu& gpu);

  const GpuRule& rule() const { return rule_; }
  std::size_t elements() const { return n_; }
  /// Returns the number of the tensor's entries that a payload holds at this density.
  std::size_t EntriesAt(double density) const;
  /// Returns the number of bytes that kernels have written to `room`, of MaxEncodedBytes.
  std::size_t EncodedBytes(std::span<const std::byte> room) const;
  /// Writes a payload that decodes to zeros, of MaxEncodedBytes.
  void EncodeZeros(double density, std::span<std::byte> payload) const;
  /// Returns the state array of this name, in the GPU's memory; null if there is none.
  void* Array(std::string_view name) const;

  /// True if State was written since the last call.
  bool TakeRestored();
  /// Note the memory, and go back to it, as Compressor's do, in a stream of the GPU.
  void Mark(GpuStream& stream);
  void GoBack(GpuStream& stream);
  /// Findings of the kernels.
  struct Findings {
    float threshold = 0.0f;
    std::uint64_t non_finite = 0;  ///< Entries since construction.
  };
  void Tell(const Findings& findings) { findings_ = findings; }

  std::size_t MaxEncodedBytes(double density) const override {
    return cpu_->MaxEncodedBytes(density);
  }
  void Check(std::span<const std::byte> payload) const override { cpu_->Check(payload); }
  void Merge(std::span<const std::byte> payload, std::span<float> sum) const override {
    cpu_->Merge(payload, sum);
  }
  void MergeMean(std::span<const std::span<const std::byte>> payloads,
                 std::span<float> mean) const override {
    cpu_->MergeMean(payloads, mean);
  }
  std::optional<ValueType> entry_values() const override { return cpu_->entry_values(); }
  SparseEntries Entries(std::span<const std::byte> payload) const override {
    return cpu_->Entries(payload);
  }
  std::optional<std::size_t> EntriesIn(std::span<const std::byte> payload) const override {
    return cpu_->EntriesIn(payload);
  }
  std::optional<DType> summable() const override { return cpu_->summable(); }
  /// True if Finish changes the memory: then it is the kernels' work.
  bool FinishesOnGpu(const StepContext& context) const {
    return std::holds_alternative<GpuDenseRule>(rule_) || context.dense_phase;
  }
  void Finish(const StepContext& context, std::span<float> mean) override;
  std::uint64_t non_finite_entries() const override { return findings_.non_finite; }
  float threshold() const override { return findings_.threshold; }
  std::vector<StateArray> State() override;
  void Restored() override;

 private:
  /// Returns the type of state on the GPU.
  DType state_type() const;
  /// Calls copy(values, on_gpu) for each array.
  template <typename Copy>
  void CopyState(const Copy& copy);

  const std::unique_ptr<Compressor> cpu_;
  const std::size_t n_;
  const GpuRule rule_;
  const Gpu& gpu_;
  std::vector<std::string> names_;
  std::vector<GpuMemory> arrays_;
  std::vector<GpuMemory> marked_;  ///< By array, once marked.
  bool restored_ = false;
  Findings findings_;
};

/// Makes an object that does the work of these compressors, in their order, on the current GPU.
/// Their rules must be of one kind (KindOf), and they must outlive it.
std::unique_ptr<GpuBucketCompressor> MakeBucketOf(
    const GpuKernels& kernels, std::span<const GpuCompressor* const> compressors);

}  // namespace weir
