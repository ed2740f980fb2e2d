#pragma once

#include <vector>

#include "coordinator/routes/route.h"
#include "coordinator/routes/split_gather.h"

namespace weir {

/// What GatherRoute sends, divided by index among the ranks that add it up (SplitGather): less
/// traffic where many ranks send the same entries, and the same bits.
class SplitRoute final : public Route {
 public:
  SplitRoute(GradientSlices& gradients, Transport& transport);

  /// All of these gradients are sent as entries, in frames that are not too long.
  static bool Suits(const GradientSlices& gradients, int ranks);

  void Prepare(bool empty) override;
  std::span<const BucketStage> stages() const override;
  void Run(BucketStage stage) override;
  Collective* Bind(std::size_t exchange) override;
  std::uint64_t wire_bytes() const override { return bytes_; }

 private:
  void Compress();
  void Merge();

  SplitGather gather_;
  std::vector<std::byte> payload_;  ///< Of one slice.
  std::size_t bytes_ = 0;
};

}  // namespace weir
