#include "coordinator/routes/frame_coder.h"

#include <algorithm>
#include <string>

#include "coordinator/gradients/corrupt_frame.h"
#include "weir/error.h"

namespace weir {

std::size_t FrameCoder::MaxBytes(const GradientSlices& gradients, double density) {
  return BucketFrame::MaxBytes(gradients.all().size(), gradients.MaxEncodedBytes(density));
}

std::size_t FrameCoder::Prepare() {
  const double density = gradients_.step().density;
  payload_most_.clear();
  for (const GradientSlice& slice : gradients_.all()) {
    payload_most_.push_back(gradients_.MaxEncodedBytes(slice, density));
  }
  const std::size_t most = MaxBytes(gradients_, density);
  if (buffer_.size() < most) buffer_.resize(most);
  bytes_ = 0;
  return most;
}

void FrameCoder::WriteWith(Encode encode) {
  BucketFrame::Writer writer(buffer_, payload_most_);
  for (const GradientSlice& slice : gradients_.all()) {
    writer.Put((gradients_.*encode)(slice, writer.Next()));
  }
  bytes_ = writer.Seal(gradients_.FrameIdentity());
}

void FrameCoder::WriteEmpty() {
  bytes_ = BucketFrame::WriteEmpty(gradients_.FrameIdentity(), buffer_);
}

void FrameCoder::Read(std::span<const std::byte> frame, Payloads& payloads) const {
  payloads.resize(payload_most_.size());
  BucketFrame::Read(frame, gradients_.FrameIdentity(), payload_most_, payloads);
}

void FrameCoder::MergeMean(std::span<const std::span<const std::byte>> frames,
                           const std::function<int(std::size_t)>& rank_of) {
  const std::vector<GradientSlice>& slices = gradients_.all();
  received_.resize(frames.size());
  for (std::size_t sender = 0; sender < frames.size(); ++sender) {
    try {
      Read(frames[sender], received_[sender]);
    } catch (const Corrupt& error) {
      throw CorruptFrame(FrameOf(rank_of(sender)), gradients_.bucket(), rank_of(sender),
                         error.what());
    }
    for (std::size_t i = 0; i < slices.size(); ++i) {
      try {
        slices[i].compression->Check(received_[sender][i]);
      } catch (const Corrupt& error) {
        throw CorruptFrame(FrameOf(rank_of(sender)), slices[i].name, rank_of(sender), error.what());
      }
    }
  }
  gradients_.MergeMeans(received_);
}

void FrameCoder::DecodeOwn() {
  Payloads payloads;
  Read(frame(), payloads);
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    const GradientSlice& slice = gradients_.all()[i];
    const std::span<float> sum = gradients_.Staged(slice);
    std::ranges::fill(sum, 0.0f);
    slice.compression->Merge(payloads[i], sum);
  }
}

}  // namespace weir
