#include "coordinator/routes/drain_route.h"

#include <algorithm>
#include <cstring>

#include "compression/codecs/cast.h"
#include "coordinator/gradients/convert.h"
#include "coordinator/routes/dense_route.h"

namespace weir {

DrainRoute::DrainRoute(GradientSlices& gradients, Transport& transport, const HostGrid* grid,
                       DType type)
    : Route(gradients), allreduce_(transport, grid), type_(type) {
  std::size_t copied = 0;
  for (const GradientSlice& slice : gradients.all()) {
    copied_at_.push_back(copied);
    if (IsCopied(slice)) copied += slice.elements * SizeOf(type_);
  }
  copied_.resize(copied);
  sources_.resize(gradients.all().size());
}

void DrainRoute::Prepare(bool empty) {
  empty_ = empty;
  if (!empty) return;
  std::ranges::fill(copied_, std::byte{0});
  std::ranges::fill(gradients().staging(), 0.0f);
}

std::span<const BucketStage> DrainRoute::stages() const {
  using enum BucketStage;
  static constexpr BucketStage kStages[] = {kCompress, kExchange, kUnpack};
  return kStages;
}

bool DrainRoute::IsCopied(const GradientSlice& slice) const {
  return type_ != DType::kFloat32 || slice.elements * sizeof(float) < DenseRoute::kLargeBytes;
}

std::span<std::byte> DrainRoute::CopyOf(std::size_t slice) {
  const std::size_t bytes = gradients().all()[slice].elements * SizeOf(type_);
  return std::span(copied_).subspan(copied_at_[slice], bytes);
}

void DrainRoute::Drain() {
  const auto& slices = gradients().all();
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const std::span<const float> all = gradients().Drain(slices[i], type_);
    if (!IsCopied(slices[i])) {
      sources_[i] = all.data();
    } else if (!all.empty()) {
      CastCodec(type_).Encode({}, all, CopyOf(i));
    }
  }
}

void DrainRoute::Run(BucketStage stage) {
  if (stage == BucketStage::kCompress) return Drain();
  const auto& slices = gradients().all();
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const std::span<float> mean = gradients().Target(slices[i]);
    if (IsCopied(slices[i])) ConvertToFloat(CopyOf(i).data(), type_, mean);
    gradients().Finish(slices[i], mean);
  }
}

Collective* DrainRoute::Bind(std::size_t) {
  arrays_.clear();
  if (!copied_.empty()) {
    const auto n = static_cast<std::int64_t>(copied_.size() / SizeOf(type_));
    arrays_.push_back({copied_.data(), copied_.data(), n, type_});
  }
  const auto& slices = gradients().all();
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (IsCopied(slices[i])) continue;
    // What a program that has joined gave for a result may be gone.
    float* const out =
        (empty_ ? gradients().Staged(slices[i]) : gradients().Target(slices[i])).data();
    const void* const in = empty_ ? out : sources_[i];
    arrays_.push_back({in, out, static_cast<std::int64_t>(slices[i].elements), DType::kFloat32});
  }
  return &allreduce_.Bind(arrays_, gradients().step().reduction);
}

}  // namespace weir
