#pragma once

#include <vector>

#include "coordinator/routes/route.h"
#include "coordinator/routes/split_gather.h"

namespace weir {

/// GatherRoute's payloads, divided by index among the ranks that add them up (SplitGather): less
/// traffic if many ranks send the same entries, and the same bits.
class SplitRoute final : public Route {
 public:
  SplitRoute(GradientSlices& gradients, Transport& transport);

  /// True if all of these gradients are sent as entries, in frames that are not too long.
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
  std::vector<std::byte> payload_;  ///< Payload of one slice.
  std::size_t bytes_ = 0;
};

}  // namespace weir
