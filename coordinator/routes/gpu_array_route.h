#pragma once

#include <cstddef>
#include <optional>

#include "common/gpu/gpu_memory.h"
#include "coordinator/routes/gpu_payload_route.h"
#include "ops/nccl/operations.h"

namespace weir {

/// ArrayRoute on GPUs, for summable gradients. NCCL rounds sums to their type on the way, where
/// ArrayRoute rounds once. NCCL would average by multiplying the inputs with 1 / N in their
/// type; for 3 ranks that is 0.2 % too large in bf16. So bf16 is summed, and divided here. Sums
/// of fp16 could be too large for it.
class GpuArrayRoute final : public GpuPayloadRoute {
 public:
  GpuArrayRoute(GradientSlices& gradients, SetNetwork& network)
      : GpuPayloadRoute(gradients, network) {}

  void Prepare(bool empty) override;
  std::span<const BucketStage> stages() const override;
  bool awaits_gpu(BucketStage stage) const override { return stage == BucketStage::kUnpack; }
  Collective* Bind(std::size_t exchange) override;

 private:
  void Deliver() override;
  std::size_t merged_ranks() const override;
  bool DividesHere() const;
  std::byte* sums() const;

  GpuMemory sums_;  ///< Reduced payloads, if the payloads must be kept.
  std::optional<nccl::Allreduce> allreduce_;
};

}  // namespace weir
