#include "coordinator/routes/host_route.h"

#include <algorithm>

namespace weir {

HostRoute::HostRoute(GradientSlices& gradients, Transport& transport, const HostGrid& grid)
    : Route(gradients),
      transport_(transport),
      grid_(grid),
      local_network_(transport, grid.local()),
      average_(local_network_),
      coder_(gradients) {}

void HostRoute::Prepare(bool empty) {
  const std::size_t most = coder_.Prepare();
  if (!exchange_ || exchange_->max_frame_bytes() < most) {
    exchange_ = std::make_unique<HostFrameExchange>(transport_, grid_, most);
  }
  if (empty) std::ranges::fill(gradients().staging(), 0.0f);
}

// A rank that contributes nothing still compresses for its host.
std::span<const BucketStage> HostRoute::stages() const {
  using enum BucketStage;
  static constexpr BucketStage kStages[] = {kPack, kExchange, kRelay, kExchange, kMerge};
  return kStages;
}

void HostRoute::Run(BucketStage stage) {
  if (stage == BucketStage::kRelay) {
    if (grid_.place() == 0) Encode();
    return;
  }
  if (stage != BucketStage::kMerge) return gradients().Stage();
  coder_.MergeMean(exchange_->frames(), [this](std::size_t host) {
    return transport_.JobRank(grid_.RankAt(static_cast<int>(host), 0));
  });
}

void HostRoute::Encode() {
  coder_.Write([this](const GradientSlice& slice, std::span<std::byte> payload) {
    StepContext context = gradients().ContextOf(slice);
    context.gradient_scale = 1.0f;  // It is in the average.
    const std::size_t bytes = slice.compressor->Encode(context, gradients().Staged(slice), payload);
    gradients().CountEncoded();
    return bytes;
  });
}

Collective* HostRoute::Bind(std::size_t exchange) {
  if (exchange == 1) {
    exchange_->Bind(coder_.frame());
    return exchange_.get();
  }
  auto* staging = reinterpret_cast<std::byte*>(gradients().staging().data());
  average_.Bind({.in = staging,
                 .out = staging,
                 .elements = gradients().elements(),
                 .dtype = DType::kFloat32,
                 .reduction = {ReduceOp::kAverage, 1.0, 1.0}});
  return &average_;
}

}  // namespace weir
