#include "coordinator/gradient_slices.h"

#include <algorithm>
#include <utility>

#include "coordinator/convert.h"

namespace weir {

GradientSlices::GradientSlices(std::string bucket, std::uint32_t index,
                               std::vector<GradientSlice> slices, const GroupStep& step)
    : bucket_(std::move(bucket)), index_(index), slices_(std::move(slices)), step_(step) {
  for (GradientSlice& slice : slices_) {
    slice.offset = elements_;
    elements_ += slice.elements;
    largest_slice_ = std::max(largest_slice_, slice.elements);
  }
}

std::optional<DType> GradientSlices::summable() const {
  const auto first = slices_.front().compressor->summable();
  const bool all = std::ranges::all_of(
      slices_, [&](const GradientSlice& slice) { return slice.compressor->summable() == first; });
  return all ? first : std::nullopt;
}

std::span<const float> GradientSlices::Source(const GradientSlice& slice) {
  if (slice.gradient != nullptr && slice.dtype == DType::kFloat32) {
    return {static_cast<const float*>(slice.gradient), slice.elements};
  }
  if (converted_.size() < largest_slice_) converted_.resize(largest_slice_);
  const auto values = std::span<float>(converted_).first(slice.elements);
  if (slice.gradient == nullptr) {
    std::ranges::fill(values, 0.0f);
  } else {
    ConvertToFloat(slice.gradient, slice.dtype, values);
  }
  return values;
}

std::span<float> GradientSlices::Target(const GradientSlice& slice) {
  if (slice.update != nullptr && slice.dtype == DType::kFloat32) {
    return {static_cast<float*>(slice.update), slice.elements};
  }
  return Staged(slice);
}

std::span<float> GradientSlices::staging() {
  if (staging_.size() < elements_) staging_.resize(elements_);
  return staging_;
}

std::span<float> GradientSlices::Staged(const GradientSlice& slice) {
  return staging().subspan(slice.offset, slice.elements);
}

void GradientSlices::Stage() {
  for (const GradientSlice& slice : slices_) {
    // This rank's own factor (clipping), so it is applied here and not by the exchange.
    const float scale = ContextOf(slice).gradient_scale;
    const std::span<const float> source = Source(slice);
    const std::span<float> target = Staged(slice);
    if (scale == 1.0f) {
      std::ranges::copy(source, target.begin());
    } else {
      std::ranges::transform(source, target.begin(), [scale](float x) { return x * scale; });
    }
  }
}

std::size_t GradientSlices::Encode(const GradientSlice& slice, std::span<std::byte> payload) {
  const std::size_t bytes = slice.compressor->Encode(ContextOf(slice), Source(slice), payload);
  CountEncoded();
  return bytes;
}

void GradientSlices::Finish(const GradientSlice& slice, std::span<float> mean) const {
  slice.compressor->Finish(ContextOf(slice), mean);
  Deliver(slice, mean);
}

void GradientSlices::Deliver(const GradientSlice& slice, std::span<const float> result) const {
  if (slice.update == nullptr || slice.update == result.data()) return;
  ConvertFromFloat(result, slice.dtype, slice.update);
}

void GradientSlices::Revert() {
  for (std::size_t i = 0; i < encoded_; ++i) slices_[i].compressor->Revert();
  encoded_ = 0;
}

}  // namespace weir
