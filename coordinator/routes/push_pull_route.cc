#include "coordinator/routes/push_pull_route.h"

#include <algorithm>
#include <string>

#include "coordinator/gradients/corrupt_frame.h"

namespace weir {

PushPullRoute::PushPullRoute(GradientSlices& gradients, Transport& transport)
    : Route(gradients),
      transport_(transport),
      self_(static_cast<std::size_t>(transport.rank())),
      frames_(gradients, static_cast<std::size_t>(transport.size())),
      own_(frames_.slices(self_)) {
  std::size_t largest = 0;
  for (const std::size_t i : own_) largest = std::max(largest, gradients.all()[i].elements);
  mean_.resize(largest);
}

void PushPullRoute::Prepare(bool empty) {
  const std::size_t most = frames_.Prepare(empty);
  if (!push_ || push_->max_frame_bytes() < most) MakeExchanges(most);
  if (adds() && answer_.size() < most) answer_.resize(most);
  answered_ = 0;
  bytes_ = 0;
}

void PushPullRoute::MakeExchanges(std::size_t most) {
  // Every rank sends to the ranks that add something up, and receives from them.
  const std::vector<bool> all(frames_.servers(), true);
  const std::vector<bool> none(frames_.servers(), false);
  std::vector<bool> adding;
  for (std::size_t r = 0; r < frames_.servers(); ++r) adding.push_back(!frames_.slices(r).empty());
  push_ = std::make_unique<FrameExchange>(transport_, most,
                                          FrameExchange::Pairs{adding, adds() ? all : none});
  pull_ = std::make_unique<FrameExchange>(transport_, most,
                                          FrameExchange::Pairs{adds() ? all : none, adding});
}

// A rank that contributes nothing still serves.
std::span<const BucketStage> PushPullRoute::stages() const {
  using enum BucketStage;
  static constexpr BucketStage kStages[] = {kCompress, kExchange, kRelay, kExchange, kMerge};
  return kStages;
}

void PushPullRoute::Run(BucketStage stage) {
  if (stage == BucketStage::kCompress) return Push();
  if (stage == BucketStage::kRelay) return Answer();
  Pull();
}

std::string PushPullRoute::FrameOfMember(std::size_t rank) const {
  return FrameOf(transport_.JobRank(static_cast<int>(rank)));
}

void PushPullRoute::Push() {
  frames_.Push();
  for (std::size_t r = 0; r < frames_.servers(); ++r) {
    if (r != self_) bytes_ += frames_.frame(r).size();
  }
}

void PushPullRoute::Answer() {
  if (!adds()) return;
  std::vector<PushFrames::Payloads> received;
  for (std::size_t rank = 0; rank < frames_.servers(); ++rank) {
    received.push_back(frames_.Read(self_, push_->frames()[rank], FrameOfMember(rank),
                                    transport_.JobRank(static_cast<int>(rank))));
  }
  BucketFrame::Writer writer(answer_, frames_.most(self_));
  PushFrames::Payloads of_slice(received.size());
  for (std::size_t i = 0; i < own_.size(); ++i) {
    std::ranges::transform(received, of_slice.begin(),
                           [i](const PushFrames::Payloads& payloads) { return payloads[i]; });
    writer.Put(AnswerSlice(i, of_slice, writer.Next()));
  }
  answer_bytes_ = writer.Seal(gradients().FrameIdentity());
  bytes_ += answer_bytes_;
}

std::size_t PushPullRoute::AnswerSlice(std::size_t i,
                                       std::span<const std::span<const std::byte>> payloads,
                                       std::span<std::byte> answer) {
  const GradientSlice& slice = gradients().all()[own_[i]];
  const std::span<float> mean = std::span(mean_).first(slice.elements);
  slice.compression->MergeMean(payloads, mean);
  // For Revert: the compressor's own would keep the mean, but the ranks take its parts back.
  slice.answering->Mark();
  ++answered_;
  StepContext context = gradients().ContextOf(slice);
  context.gradient_scale = 1.0f;  // The payloads include it.
  context.rank = StepContext::kAnswer;
  return slice.answering->Encode(context, mean, answer);
}

void PushPullRoute::Pull() {
  frames_.Deliver(pull_->frames(), [this](std::size_t rank) -> PushFrames::Sender {
    return {FrameOfMember(rank), transport_.JobRank(static_cast<int>(rank))};
  });
}

Collective* PushPullRoute::Bind(std::size_t exchange) {
  if (exchange == 1) {
    pull_->Bind(std::span(answer_).first(adds() ? answer_bytes_ : 0));
    return pull_.get();
  }
  std::vector<std::span<const std::byte>> frames;
  for (std::size_t r = 0; r < frames_.servers(); ++r) frames.push_back(frames_.frame(r));
  push_->BindEach(frames);
  return push_.get();
}

void PushPullRoute::Revert() {
  for (std::size_t i = 0; i < answered_; ++i) gradients().all()[own_[i]].answering->GoBack();
  answered_ = 0;
}

}  // namespace weir
