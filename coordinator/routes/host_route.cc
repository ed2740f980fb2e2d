#include "coordinator/routes/host_route.h"

#include <algorithm>

#include "common/half_array.h"
#include "compression/wire/value_coding.h"

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
  if (halves()) halves_.resize(gradients().elements());
  if (!empty) return;
  std::ranges::fill(gradients().staging(), 0.0f);
  std::ranges::fill(halves_, std::uint16_t{0});
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
  if (stage != BucketStage::kMerge) return Pack();
  coder_.MergeMean(exchange_->frames(), [this](std::size_t host) {
    return transport_.JobRank(grid_.RankAt(static_cast<int>(host), 0));
  });
}

void HostRoute::Pack() {
  // An inf of one rank must not destroy the other ranks' entry.
  gradients().StageFinite();
  if (!halves()) return;
  const std::span<float> values = gradients().staging();
  for (float& value : values) value = std::clamp(value, -kLargestHalf, kLargestHalf);
  FloatsToHalves(values, halves_);
}

void HostRoute::Encode() {
  if (halves()) HalvesToFloats(halves_, gradients().staging());
  coder_.WriteStaged();
}

Collective* HostRoute::Bind(std::size_t exchange) {
  if (exchange == 1) {
    exchange_->Bind(coder_.frame());
    return exchange_.get();
  }
  std::byte* const values = reinterpret_cast<std::byte*>(
      halves() ? static_cast<void*>(halves_.data()) : gradients().staging().data());
  average_.Bind({.in = values,
                 .out = values,
                 .elements = gradients().elements(),
                 .dtype = halves() ? DType::kFloat16 : DType::kFloat32,
                 .reduction = {ReduceOp::kAverage, 1.0, 1.0}});
  return &average_;
}

}  // namespace weir
