#pragma once

#include <cstddef>
#include <optional>

#include "common/gpu_memory.h"
#include "coordinator/routes/route.h"
#include "ops/nccl/operations.h"

namespace weir {

class ProcessSet;

/// What GatherRoute does, where kernels compress all of the bucket's gradients, over NCCL: payloads
/// are made, exchanged and merged in the memory of GPUs. Their lengths follow from the step, on
/// which all ranks agree, so they travel without frames. The same bits as on GatherRoute.
class GpuGatherRoute final : public Route {
 public:
  /// The step knows the GPUs of all ranks (GroupStep::gpus).
  GpuGatherRoute(GradientSlices& gradients, ProcessSet& set) : Route(gradients), set_(set) {}

  static bool Suits(const GradientSlices& gradients);

  void Prepare(bool empty) override;
  std::span<const BucketStage> stages() const override;
  void Run(BucketStage stage) override;
  bool awaits_gpu(BucketStage stage) const override { return stage == BucketStage::kMerge; }
  Collective* Bind(std::size_t exchange) override;
  std::uint64_t wire_bytes() const override { return bytes_; }

 private:
  /// While the exchange is under way.
  void QueueResults();

  ProcessSet& set_;
  bool empty_ = false;
  std::size_t bytes_ = 0;  ///< Of each rank.
  GpuMemory gathered_;     ///< All ranks' payloads, by rank.
  std::optional<nccl::Allgather> allgather_;
};

}  // namespace weir
