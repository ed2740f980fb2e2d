#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "coordinator/routes/route.h"
#include "ops/array.h"
#include "ops/grouped_allreduce.h"

namespace weir {

/// The gradients themselves, averaged by all-reduces. Small ones are fused; each large one travels
/// from where it lies to where its result belongs. Which ones are large is the same on all ranks;
/// one that cannot stay where it lies is staged on this rank alone, and travels alike.
class DenseRoute final : public Route {
 public:
  DenseRoute(GradientSlices& gradients, Transport& transport, const HostGrid* grid);

  void Prepare(bool empty) override;
  std::span<const BucketStage> stages() const override;
  void Run(BucketStage stage) override;
  void UseChunksOf(std::size_t bytes) override { allreduce_.set_chunk_bytes(bytes); }
  Collective* Bind(std::size_t exchange) override;
  std::uint64_t wire_bytes() const override { return gradients().elements() * sizeof(float); }

  /// From here a copy costs more than an exchange of its own. Few small ones are not worth one.
  static constexpr std::size_t kLargeBytes = std::size_t{256} << 10;

 private:
  /// Where a gradient is packed: alone in the staging buffer, or among the small ones.
  std::span<float> Packed(std::size_t slice);
  bool IsLarge(const GradientSlice& slice) const;
  /// A large one that needs no packing.
  bool StaysInPlace(const GradientSlice& slice) const;

  GroupedAllreduce allreduce_;
  std::vector<std::size_t> fused_at_;  ///< By slice: place of a small one in fused_.
  std::vector<float> fused_;           ///< The small ones, side by side.
  std::vector<Array> arrays_;
  bool empty_ = false;
};

}  // namespace weir
