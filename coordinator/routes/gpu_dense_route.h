#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "common/gpu/gpu_memory.h"
#include "compression/gpu/gpu_kernels.h"
#include "coordinator/routes/route.h"
#include "ops/nccl/operations.h"

namespace weir {

class SetNetwork;

/// DenseRoute over NCCL, for gradients that are all on a GPU: they are packed on the GPU, and
/// reduced as fp32. A large one is sent from its own memory to its result's.
class GpuDenseRoute final : public Route {
 public:
  /// The step must know the GPUs of all ranks (GroupStep::gpus).
  GpuDenseRoute(GradientSlices& gradients, SetNetwork& network);

  /// True if all gradients are of types that kernels read, and on the GPU. If they are not plain,
  /// but in the dense phase of a compressor, kernels must also finish them.
  static bool Suits(const GradientSlices& gradients, bool plain);

  void Prepare(bool empty) override;
  std::span<const BucketStage> stages() const override;
  void Run(BucketStage stage) override;
  bool awaits_gpu(BucketStage stage) const override { return stage == BucketStage::kUnpack; }
  Collective* Bind(std::size_t exchange) override;
  std::uint64_t wire_bytes() const override { return gradients().elements() * sizeof(float); }

 private:
  /// As in DenseRoute.
  bool StaysInPlace(const GradientSlice& slice) const;
  float* Packed(const GradientSlice& slice) const;
  void Pack();
  /// Makes kernels turn its mean into the update. Returns whether they do.
  bool Finish(const GradientSlice& slice, bool stays);
  void Unpack();
  /// Called while the exchange is under way.
  void QueueResults();

  SetNetwork& network_;
  const std::unique_ptr<GpuPacking> packing_;
  GpuMemory staging_;  ///< Made when the first gradient has to be packed.
  std::optional<nccl::Allreduce> allreduce_;
  std::vector<Array> arrays_;
  bool empty_ = false;
};

}  // namespace weir
