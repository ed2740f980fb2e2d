#pragma once

#include <vector>

#include "coordinator/routes/route.h"
#include "ops/collectives/allreduce.h"

namespace weir {

/// Payloads that are arrays (fp16, bf16), fused and averaged by an all-reduce.
class ArrayRoute final : public Route {
 public:
  ArrayRoute(GradientSlices& gradients, Transport& transport, const HostGrid* grid)
      : Route(gradients), allreduce_(transport, grid) {}

  void Prepare(bool empty) override;
  std::span<const BucketStage> stages() const override;
  void Run(BucketStage stage) override;
  void UseChunksOf(std::size_t bytes) override { allreduce_.set_chunk_bytes(bytes); }
  Collective* Bind(std::size_t exchange) override;
  std::uint64_t wire_bytes() const override { return array_.size(); }

 private:
  DType dtype() const { return gradients().summable().value(); }

  Allreduce allreduce_;
  std::vector<std::byte> array_;
};

}  // namespace weir
