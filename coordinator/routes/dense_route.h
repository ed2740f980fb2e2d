#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "coordinator/routes/route.h"
#include "ops/arrays/array.h"
#include "ops/grouped/grouped_allreduce.h"

namespace weir {

/// The gradients themselves, averaged by all-reduces. Small ones are fused; each large one is sent
/// from its own memory to its result's. All ranks agree on which ones are large. One that must be
/// moved is staged on this rank alone, and exchanged like the others.
class DenseRoute final : public Route {
 public:
  DenseRoute(GradientSlices& gradients, Transport& transport, const HostGrid* grid);

  void Prepare(bool empty) override;
  std::span<const BucketStage> stages() const override;
  void Run(BucketStage stage) override;
  void UseChunksOf(std::size_t bytes) override { allreduce_.set_chunk_bytes(bytes); }
  Collective* Bind(std::size_t exchange) override;
  std::uint64_t wire_bytes() const override { return gradients().elements() * sizeof(float); }

  /// Larger ones cost more to copy than to exchange. A few small ones are not worth an exchange.
  static constexpr std::size_t kLargeBytes = std::size_t{256} << 10;

 private:
  /// Place of a packed gradient: alone in the staging buffer, or among the small ones.
  std::span<float> Packed(std::size_t slice);
  bool IsLarge(const GradientSlice& slice) const;
  /// True for a large one that needs no packing.
  bool StaysInPlace(const GradientSlice& slice) const;

  GroupedAllreduce allreduce_;
  std::vector<std::size_t> fused_at_;  ///< By slice: place of a small one in fused_.
  std::vector<float> fused_;           ///< The small ones, side by side.
  std::vector<Array> arrays_;
  bool empty_ = false;
};

}  // namespace weir
