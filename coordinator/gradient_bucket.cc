#include "coordinator/gradient_bucket.h"

#include <algorithm>

#include "common/check.h"
#include "coordinator/bucket_frame.h"
#include "coordinator/convert.h"
#include "coordinator/process_set.h"

namespace weir {

std::vector<RouteInfo> GradientBucket::Routes() {
  std::vector<RouteInfo> routes(4);
  const auto entry = [&](BucketRoute route) -> RouteInfo& {
    return routes.at(static_cast<std::size_t>(route));
  };
  entry(BucketRoute::kDense) = {"allreduce", "dense"};
  entry(BucketRoute::kSummable) = {"allreduce", "summable"};
  entry(BucketRoute::kGather) = {"allgather", "gather"};
  entry(BucketRoute::kMaskedDense) = {"allreduce", "masked_dense"};
  return routes;
}

GradientBucket::GradientBucket(std::string name, std::uint32_t index, int priority,
                               std::vector<GradientSlice> slices, const GroupStep& step,
                               ProcessSet& set, HandleTable& handles, StepGate* gate)
    : name_(std::move(name)),
      index_(index),
      priority_(priority),
      slices_(std::move(slices)),
      step_(step),
      transport_(set.transport()),
      handles_(handles),
      gate_(gate),
      allreduce_(set.transport(), set.allreduce_grid()) {
  process_set = &set;
  for (GradientSlice& slice : slices_) {
    slice.offset = elements_;
    elements_ += slice.elements;
    largest_slice_ = std::max(largest_slice_, slice.elements);
  }
  handles_of_step_.reserve(slices_.size());
}

std::size_t GradientBucket::MaxFrameBytes(double density) const {
  std::size_t payload = 0;
  for (const GradientSlice& slice : slices_) payload += slice.compressor->MaxEncodedBytes(density);
  return BucketFrame::MaxBytes(slices_.size(), payload);
}

std::optional<DType> GradientBucket::summable() const {
  const auto first = slices_.front().compressor->summable();
  const bool all = std::ranges::all_of(
      slices_, [&](const GradientSlice& slice) { return slice.compressor->summable() == first; });
  return all ? first : std::nullopt;
}

void GradientBucket::Prepare(BucketRoute route) {
  route_ = route;
  empty_ = false;
  missing_.store(slices_.size(), std::memory_order_relaxed);
  first_ns.store(0, std::memory_order_relaxed);
  encoded_ = 0;
  delivered_ = false;
  frame_bytes_ = 0;
  if (route == BucketRoute::kDense) return;
  const std::size_t most = MaxFrameBytes(step_.density);
  if (frame_.size() < most) frame_.resize(most);
  if (route == BucketRoute::kGather && (!gather_ || gather_->max_frame_bytes() < most)) {
    gather_ = std::make_unique<FrameAllgather>(transport_, most);
  }
}

void GradientBucket::PrepareEmpty(BucketRoute route) {
  Prepare(route);
  empty_ = true;
  switch (route) {
    case BucketRoute::kDense:
    case BucketRoute::kMaskedDense:
      staging_.assign(elements_, 0.0f);
      break;
    case BucketRoute::kSummable:
      std::ranges::fill(frame_, std::byte{0});
      break;
    case BucketRoute::kGather:
      frame_bytes_ = BucketFrame::WriteEmpty(FrameIdentity(), frame_);
      break;
  }
}

std::span<const BucketStage> GradientBucket::stages() const {
  using enum BucketStage;
  static constexpr BucketStage kEmptyStages[] = {kExchange};
  static constexpr BucketStage kGatedEmptyStages[] = {kGate, kExchange};
  if (empty_) return gate_ ? std::span<const BucketStage>(kGatedEmptyStages) : kEmptyStages;
  static constexpr BucketStage kDenseStages[] = {kPack, kExchange, kUnpack};
  static constexpr BucketStage kArrayStages[] = {kCompress, kExchange, kUnpack};
  static constexpr BucketStage kFrameStages[] = {kCompress, kExchange, kMerge};
  static constexpr BucketStage kGatedArrayStages[] = {kPack, kGate, kCompress, kExchange, kUnpack};
  static constexpr BucketStage kGatedFrameStages[] = {kPack, kGate, kCompress, kExchange, kMerge};
  switch (route_) {
    case BucketRoute::kDense:
      return gate_ ? std::span<const BucketStage>(kGatedArrayStages) : kDenseStages;
    case BucketRoute::kGather:
      return gate_ ? std::span<const BucketStage>(kGatedFrameStages) : kFrameStages;
    case BucketRoute::kSummable:
    case BucketRoute::kMaskedDense:
      break;
  }
  return gate_ ? std::span<const BucketStage>(kGatedArrayStages) : kArrayStages;
}

void GradientBucket::Run(BucketStage stage) {
  switch (stage) {
    case BucketStage::kPack:
      return Pack();
    case BucketStage::kCompress:
      return Compress();
    case BucketStage::kMerge:
      return Merge();
    case BucketStage::kUnpack:
      return Unpack();
    case BucketStage::kGate:
    case BucketStage::kExchange:
      break;
  }
  WEIR_CHECK(false);
}

Collective* GradientBucket::BindExchange() {
  const auto count = static_cast<std::int64_t>(elements_);
  switch (route_) {
    case BucketRoute::kGather:
      gather_->Bind(std::span<const std::byte>(frame_).first(frame_bytes_));
      return gather_.get();
    case BucketRoute::kDense:
      if (DirectDense()) {
        allreduce_.Bind(slices_.front().gradient, slices_.front().update, count, DType::kFloat32,
                        step_.reduction);
      } else {
        allreduce_.Bind(staging_.data(), staging_.data(), count, DType::kFloat32, step_.reduction);
      }
      break;
    case BucketRoute::kMaskedDense:
      allreduce_.Bind(staging_.data(), staging_.data(), count, DType::kFloat32,
                      {ReduceOp::kAverage, 1.0, 1.0});
      break;
    case BucketRoute::kSummable:
      allreduce_.Bind(frame_.data(), frame_.data(), count, *summable(), step_.reduction);
      break;
  }
  return &allreduce_;
}

const StepContext& GradientBucket::ContextOf(const GradientSlice& slice) const {
  return step_.contexts[static_cast<std::size_t>(slice.parameter_group)];
}

std::span<float> GradientBucket::Staged(const GradientSlice& slice) {
  if (staging_.size() < elements_) staging_.resize(elements_);
  return std::span<float>(staging_).subspan(slice.offset, slice.elements);
}

std::span<const float> GradientBucket::Source(const GradientSlice& slice) {
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

std::span<float> GradientBucket::Target(const GradientSlice& slice) {
  if (slice.update != nullptr && slice.dtype == DType::kFloat32) {
    return {static_cast<float*>(slice.update), slice.elements};
  }
  return Staged(slice);
}

void GradientBucket::Deliver(const GradientSlice& slice, std::span<const float> result) const {
  if (slice.update == nullptr || slice.update == result.data()) return;
  ConvertFromFloat(result, slice.dtype, slice.update);
}

bool GradientBucket::DirectDense() const {
  const GradientSlice& slice = slices_.front();
  return slices_.size() == 1 && slice.dtype == DType::kFloat32 && slice.gradient != nullptr &&
         slice.update != nullptr && ContextOf(slice).gradient_scale == 1.0f;
}

void GradientBucket::Done() {
  encoded_ = 0;
  delivered_ = true;
  Fulfil(nullptr);
}

void GradientBucket::Failed(const std::exception_ptr& error) {
  for (std::size_t i = 0; i < encoded_; ++i) slices_[i].compressor->Revert();
  encoded_ = 0;
  Fulfil(error);
}

void GradientBucket::Fulfil(const std::exception_ptr& error) {
  handles_of_step_.clear();
  for (GradientSlice& slice : slices_) {
    slice.owner.reset();
    slice.gradient = nullptr;
    if (slice.handle != kNoHandle) handles_of_step_.push_back(slice.handle);
  }
  handles_.Complete(handles_of_step_, error);
}

Bucket::Traffic GradientBucket::traffic() const {
  std::uint64_t wire = frame_bytes_;
  if (route_ == BucketRoute::kDense || route_ == BucketRoute::kMaskedDense) wire = dense_bytes();
  float threshold = 0.0f;
  for (const GradientSlice& slice : slices_) {
    threshold = std::max(threshold, slice.compressor->threshold());
  }
  return {.dense_bytes = dense_bytes(),
          .wire_bytes = wire,
          .density = static_cast<float>(step_.density),
          .threshold = threshold};
}

}  // namespace weir
