#pragma once

#include <optional>

#include "coordinator/routes/gpu_payload_route.h"
#include "ops/nccl/operations.h"

namespace weir {

/// What ArrayRoute does, on GPUs, for gradients that are summable. NCCL rounds sums to their type
/// on the way, where ArrayRoute rounds once.
class GpuArrayRoute final : public GpuPayloadRoute {
 public:
  GpuArrayRoute(GradientSlices& gradients, ProcessSet& set) : GpuPayloadRoute(gradients, set) {}

  std::span<const BucketStage> stages() const override;
  bool awaits_gpu(BucketStage stage) const override { return stage == BucketStage::kUnpack; }
  Collective* Bind(std::size_t exchange) override;

 private:
  void Deliver() override;

  std::optional<nccl::Allreduce> allreduce_;
};

}  // namespace weir
