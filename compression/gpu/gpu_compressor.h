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
#include "compression/compressor.h"
#include "compression/gpu/gpu_kernels.h"
#include "compression/tensor_compression.h"

namespace weir {

/// A tensor's compression whose memory lies on a GPU. The kernels of its bucket encode there, for
/// all tensors of the bucket at once (coordinator/gradients/gpu_compression.h). Payloads are those
/// of the CPU's compressor, which looks at them on the host; between steps, State is a copy on the
/// host, which Restored copies back. Not thread-safe but for Check and Merge.
class GpuCompressor final : public TensorCompression {
 public:
  /// `cpu`, of `n` elements, has a gpu_rule. Its state does not count.
  GpuCompressor(std::unique_ptr<Compressor> cpu, std::size_t n, const Gpu& gpu);

  const GpuRule& rule() const { return rule_; }
  std::size_t elements() const { return n_; }
  /// How many entries of the tensor a payload holds at this density.
  std::size_t EntriesAt(double density) const;
  /// How many bytes kernels have written, where there is room for MaxEncodedBytes.
  std::size_t EncodedBytes(std::span<const std::byte> room) const;
  /// A payload that decodes to zeros, MaxEncodedBytes of it.
  void EncodeZeros(double density, std::span<std::byte> payload) const;
  /// The state array of this name, in the GPU's memory; null where there is none.
  void* Array(std::string_view name) const;

  /// Whether State was written since this was asked last.
  bool TakeRestored();
  /// What kernels have found out.
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
  /// Whether Finish changes the memory: then it is the kernels' work.
  bool FinishesOnGpu(const StepContext& context) const {
    return std::holds_alternative<GpuDenseRule>(rule_) || context.dense_phase;
  }
  void Finish(const StepContext& context, std::span<float> mean) override;
  std::uint64_t non_finite_entries() const override { return findings_.non_finite; }
  float threshold() const override { return findings_.threshold; }
  std::vector<StateArray> State() override;
  void Restored() override;

 private:
  /// How state lies on the GPU.
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
  bool restored_ = false;
  Findings findings_;
};

/// What does the work of these compressors on the current GPU. Their rules are of one kind
/// (KindOf), and they live longer. In their order.
std::unique_ptr<GpuBucketCompressor> MakeBucketOf(
    const GpuKernels& kernels, std::span<const GpuCompressor* const> compressors);

}  // namespace weir
