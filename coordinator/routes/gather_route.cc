#include "coordinator/routes/gather_route.h"

namespace weir {

void GatherRoute::Prepare(bool empty) {
  const std::size_t most = coder_.Prepare();
  if (!exchange_ || exchange_->max_frame_bytes() < most) {
    exchange_ = std::make_unique<FrameExchange>(transport_, most);
  }
  if (empty) coder_.WriteEmpty();
}

std::span<const BucketStage> GatherRoute::stages() const {
  using enum BucketStage;
  static constexpr BucketStage kStages[] = {kCompress, kExchange, kMerge};
  return kStages;
}

void GatherRoute::Run(BucketStage stage) {
  if (stage == BucketStage::kCompress) return coder_.Write();
  coder_.MergeMean(exchange_->frames(), [this](std::size_t sender) {
    return transport_.JobRank(static_cast<int>(sender));
  });
}

Collective* GatherRoute::Bind(std::size_t) {
  exchange_->Bind(coder_.frame());
  return exchange_.get();
}

}  // namespace weir
