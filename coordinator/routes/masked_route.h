#pragma once

#include "coordinator/routes/frame_coder.h"
#include "coordinator/routes/route.h"
#include "ops/collectives/allreduce.h"

namespace weir {

/// GatherRoute's payloads, decoded and averaged by an all-reduce: fewer bytes at high density, and
/// the same numbers except for the order of additions.
class MaskedRoute final : public Route {
 public:
  MaskedRoute(GradientSlices& gradients, Transport& transport, const HostGrid* grid)
      : Route(gradients), allreduce_(transport, grid), coder_(gradients) {}

  void Prepare(bool empty) override;
  std::span<const BucketStage> stages() const override;
  void Run(BucketStage stage) override;
  void UseChunksOf(std::size_t bytes) override { allreduce_.set_chunk_bytes(bytes); }
  Collective* Bind(std::size_t exchange) override;
  std::uint64_t wire_bytes() const override { return gradients().elements() * sizeof(float); }

 private:
  Allreduce allreduce_;
  FrameCoder coder_;
};

}  // namespace weir
