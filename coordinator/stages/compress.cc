#include <algorithm>

#include "coordinator/bucket_frame.h"
#include "coordinator/gradient_bucket.h"

namespace weir {

/// Turns every gradient of the bucket into what this rank contributes.
void GradientBucket::Compress() {
  if (route_ == BucketRoute::kDense) {
    StageDense();
    return;
  }
  if (route_ == BucketRoute::kSummable) {
    CompressToArray();
    return;
  }
  CompressToFrame();
  if (route_ == BucketRoute::kMaskedDense) DecodeOwnFrame();
}

void GradientBucket::CompressToArray() {
  std::span<std::byte> rest(frame_);
  for (const GradientSlice& slice : slices_) {
    rest = rest.subspan(slice.compressor->Encode(ContextOf(slice), Source(slice), rest));
    ++encoded_;
  }
  frame_bytes_ = frame_.size() - rest.size();
}

void GradientBucket::CompressToFrame() {
  payload_most_.clear();
  for (const GradientSlice& slice : slices_) {
    payload_most_.push_back(slice.compressor->MaxEncodedBytes(step_.density));
  }
  BucketFrame::Writer writer(frame_, payload_most_);
  for (const GradientSlice& slice : slices_) {
    writer.Put(slice.compressor->Encode(ContextOf(slice), Source(slice), writer.Next()));
    ++encoded_;
  }
  frame_bytes_ = writer.Seal(FrameIdentity());
}

void GradientBucket::DecodeOwnFrame() {
  ReadFrame(std::span<const std::byte>(frame_).first(frame_bytes_), payloads_);
  for (std::size_t i = 0; i < slices_.size(); ++i) {
    const std::span<float> sum = Staged(slices_[i]);
    std::ranges::fill(sum, 0.0f);
    slices_[i].compressor->Merge(payloads_[i], sum);
  }
}

BucketFrame::Identity GradientBucket::FrameIdentity() const {
  return {step_.epoch, step_.step, index_, elements_, step_.codec};
}

void GradientBucket::ReadFrame(std::span<const std::byte> frame,
                               std::vector<std::span<const std::byte>>& payloads) const {
  payloads.resize(slices_.size());
  BucketFrame::Read(frame, FrameIdentity(), payload_most_, payloads);
}

}  // namespace weir
