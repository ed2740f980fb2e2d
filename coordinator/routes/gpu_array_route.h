#pragma once

#include <cstddef>
#include <optional>

#include "coordinator/routes/route.h"
#include "ops/nccl/operations.h"

namespace weir {

class ProcessSet;

/// What ArrayRoute does, where kernels compress all of the bucket's gradients, over NCCL: payloads
/// are made, averaged and delivered in the memory of GPUs. NCCL rounds sums to their type on the
/// way, where ArrayRoute rounds once.
class GpuArrayRoute final : public Route {
 public:
  /// The step knows the GPUs of all ranks (GroupStep::gpus).
  GpuArrayRoute(GradientSlices& gradients, ProcessSet& set) : Route(gradients), set_(set) {}

  /// Of gradients that are summable.
  static bool Suits(const GradientSlices& gradients);

  void Prepare(bool empty) override;
  std::span<const BucketStage> stages() const override;
  void Run(BucketStage stage) override;
  bool awaits_gpu(BucketStage stage) const override { return stage == BucketStage::kUnpack; }
  Collective* Bind(std::size_t exchange) override;
  std::uint64_t wire_bytes() const override { return bytes_; }

 private:
  /// While the exchange is under way.
  void QueueResults();

  ProcessSet& set_;
  bool empty_ = false;
  std::size_t bytes_ = 0;
  std::optional<nccl::Allreduce> allreduce_;
};

}  // namespace weir
