#include "coordinator/routes/dense_route.h"

#include <algorithm>

namespace weir {

DenseRoute::DenseRoute(GradientSlices& gradients, Transport& transport, const HostGrid* grid)
    : Route(gradients), allreduce_(transport, grid) {
  std::size_t fused = 0;
  for (const GradientSlice& slice : gradients.all()) {
    fused_at_.push_back(fused);
    if (!IsLarge(slice)) fused += slice.elements;
  }
  fused_.resize(fused);
}

void DenseRoute::Prepare(bool empty) {
  empty_ = empty;
  if (!empty) return;
  std::ranges::fill(gradients().staging(), 0.0f);
  std::ranges::fill(fused_, 0.0f);
}

std::span<const BucketStage> DenseRoute::stages() const {
  using enum BucketStage;
  static constexpr BucketStage kStages[] = {kPack, kExchange, kUnpack};
  return kStages;
}

bool DenseRoute::IsLarge(const GradientSlice& slice) const {
  return gradients().all().size() == 1 || slice.elements * sizeof(float) >= kLargeBytes;
}

bool DenseRoute::StaysInPlace(const GradientSlice& slice) const {
  return IsLarge(slice) && !empty_ && GradientSlices::OnHost(slice) &&
         slice.dtype == DType::kFloat32 && slice.gradient != nullptr && slice.update != nullptr &&
         gradients().ContextOf(slice).gradient_scale == 1.0f;
}

std::span<float> DenseRoute::Packed(std::size_t slice) {
  const GradientSlice& one = gradients().all()[slice];
  if (IsLarge(one)) return gradients().Staged(one);
  return std::span(fused_).subspan(fused_at_[slice], one.elements);
}

void DenseRoute::Run(BucketStage stage) {
  const auto& slices = gradients().all();
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const bool stays = StaysInPlace(slices[i]);
    if (stage == BucketStage::kUnpack) {
      gradients().Finish(slices[i], stays ? gradients().Target(slices[i]) : Packed(i));
    } else if (!stays) {
      gradients().StageAt(slices[i], Packed(i));
    }
  }
}

Collective* DenseRoute::Bind(std::size_t) {
  arrays_.clear();
  if (!fused_.empty()) {
    arrays_.push_back(
        {fused_.data(), fused_.data(), static_cast<std::int64_t>(fused_.size()), DType::kFloat32});
  }
  const auto& slices = gradients().all();
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (!IsLarge(slices[i])) continue;
    // The staging buffer is made only if needed.
    const bool stays = StaysInPlace(slices[i]);
    const void* const in = stays ? slices[i].gradient : Packed(i).data();
    void* const out = stays ? slices[i].update : Packed(i).data();
    arrays_.push_back({in, out, static_cast<std::int64_t>(slices[i].elements), DType::kFloat32});
  }
  return &allreduce_.Bind(arrays_, gradients().step().reduction);
}

}  // namespace weir
