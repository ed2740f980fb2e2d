#pragma once

#include <cstddef>
#include <optional>

#include "common/gpu_memory.h"
#include "coordinator/routes/gpu_payload_route.h"
#include "ops/nccl/operations.h"

namespace weir {

/// What ArrayRoute does, on GPUs, for gradients that are summable. NCCL rounds sums to their type
/// on the way, where ArrayRoute rounds once. It would average by multiplying what goes in with 1 /
/// N of that type, and for 3 ranks that of bf16 is 0.2 % too large: so bf16 is summed, and divided
/// here. Sums of fp16 could be too large for it.
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

  GpuMemory sums_;  ///< Where payloads have to stay as they are, the reduced ones.
  std::optional<nccl::Allreduce> allreduce_;
};

}  // namespace weir
