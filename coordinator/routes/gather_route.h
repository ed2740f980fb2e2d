#pragma once

#include <memory>

#include "coordinator/routes/frame_coder.h"
#include "coordinator/routes/route.h"
#include "ops/exchanges/frame_exchange.h"

namespace weir {

/// One frame per rank, gathered by all and merged in rank order.
class GatherRoute final : public Route {
 public:
  GatherRoute(GradientSlices& gradients, Transport& transport)
      : Route(gradients), transport_(transport), coder_(gradients) {}

  void Prepare(bool empty) override;
  std::span<const BucketStage> stages() const override;
  void Run(BucketStage stage) override;
  Collective* Bind(std::size_t exchange) override;
  std::uint64_t wire_bytes() const override { return coder_.frame().size(); }

 private:
  Transport& transport_;
  FrameCoder coder_;
  std::unique_ptr<FrameExchange> exchange_;  ///< Made anew when frames become longer.
};

}  // namespace weir
