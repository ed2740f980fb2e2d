#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "coordinator/routes/route.h"
#include "ops/arrays/array.h"
#include "ops/grouped/grouped_allreduce.h"

namespace weir {

/// All that compressors hold, averaged by all-reduces as fp32 or fp16: a step without compression
/// between steps with it, or in their place (Compressor::Drain). As fp32, large gradients travel
/// from where they accumulate to their results; others are copied side by side. As fp16, each rank
/// keeps what rounding its values loses, and what rounding the sum loses is lost.
class DrainRoute final : public Route {
 public:
  DrainRoute(GradientSlices& gradients, Transport& transport, const HostGrid* grid, DType type);

  void Prepare(bool empty) override;
  std::span<const BucketStage> stages() const override;
  void Run(BucketStage stage) override;
  void UseChunksOf(std::size_t bytes) override { allreduce_.set_chunk_bytes(bytes); }
  Collective* Bind(std::size_t exchange) override;
  std::uint64_t wire_bytes() const override { return gradients().elements() * SizeOf(type_); }

 private:
  void Drain();
  bool IsCopied(const GradientSlice& slice) const;
  std::span<std::byte> CopyOf(std::size_t slice);

  GroupedAllreduce allreduce_;
  const DType type_;
  std::vector<std::size_t> copied_at_;  ///< By slice: place of a copied one in copied_, in bytes.
  std::vector<std::byte> copied_;
  std::vector<const void*> sources_;  ///< By slice: where one lies that is not copied.
  std::vector<Array> arrays_;
  bool empty_ = false;
};

}  // namespace weir
