#pragma once

#include "coordinator/routes/route.h"
#include "ops/allreduce.h"

namespace weir {

/// The gradients themselves, averaged by an all-reduce. Small ones are fused; a large one travels
/// from where it lies to where its result belongs.
class DenseRoute final : public Route {
 public:
  DenseRoute(GradientSlices& gradients, Transport& transport, const HostGrid* grid)
      : Route(gradients), allreduce_(transport, grid) {}

  void Prepare(bool empty) override;
  std::span<const BucketStage> stages() const override;
  void Run(BucketStage stage) override;
  Collective* Bind(std::size_t exchange) override;
  std::uint64_t wire_bytes() const override { return gradients().elements() * sizeof(float); }

 private:
  /// The one gradient of the bucket can stay where it is.
  bool InPlace() const;

  Allreduce allreduce_;
  bool empty_ = false;
};

}  // namespace weir
