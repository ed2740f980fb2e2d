#pragma once

#include <optional>

#include "common/gpu/gpu_memory.h"
#include "coordinator/routes/gpu_payload_route.h"
#include "ops/nccl/operations.h"

namespace weir {

/// GatherRoute on GPUs, with the same bits.
class GpuGatherRoute final : public GpuPayloadRoute {
 public:
  GpuGatherRoute(GradientSlices& gradients, SetNetwork& network)
      : GpuPayloadRoute(gradients, network) {}

  void Prepare(bool empty) override;
  std::span<const BucketStage> stages() const override;
  bool awaits_gpu(BucketStage stage) const override { return stage == BucketStage::kMerge; }
  Collective* Bind(std::size_t exchange) override;

 private:
  void Deliver() override;
  std::size_t merged_ranks() const override;

  GpuMemory gathered_;  ///< All ranks' payloads, by rank.
  std::optional<nccl::Allgather> allgather_;
};

}  // namespace weir
