#include "coordinator/routes/push_pull_route.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "weir/error.h"

namespace weir {
namespace {

std::size_t MaxFrameBytes(const std::vector<std::size_t>& most) {
  return BucketFrame::MaxBytes(most.size(),
                               std::accumulate(most.begin(), most.end(), std::size_t{0}));
}

}  // namespace

PushPullRoute::PushPullRoute(GradientSlices& gradients, Transport& transport)
    : Route(gradients),
      transport_(transport),
      servers_(static_cast<std::size_t>(transport.size())),
      own_(servers_[static_cast<std::size_t>(transport.rank())]) {
  std::size_t largest = 0;
  for (std::size_t i = 0; i < gradients.all().size(); ++i) {
    const GradientSlice& slice = gradients.all()[i];
    servers_.at(static_cast<std::size_t>(slice.server)).slices.push_back(i);
    if (slice.answering != nullptr) largest = std::max(largest, slice.elements);
  }
  mean_.resize(largest);
  before_.resize(own_.slices.size());
}

bool PushPullRoute::Suits(const GradientSlices& gradients, int ranks, double density) {
  std::vector<std::size_t> bytes(static_cast<std::size_t>(ranks));
  std::vector<std::size_t> slices(static_cast<std::size_t>(ranks));
  for (const GradientSlice& slice : gradients.all()) {
    bytes[static_cast<std::size_t>(slice.server)] += slice.compressor->MaxEncodedBytes(density);
    ++slices[static_cast<std::size_t>(slice.server)];
  }
  for (std::size_t r = 0; r < bytes.size(); ++r) {
    if (BucketFrame::MaxBytes(slices[r], bytes[r]) > FrameExchange::kMostBytes) return false;
  }
  return true;
}

void PushPullRoute::Prepare(bool empty) {
  std::size_t most = 0;
  for (Server& server : servers_) {
    server.most.clear();
    for (const std::size_t i : server.slices) {
      server.most.push_back(
          gradients().all()[i].compressor->MaxEncodedBytes(gradients().step().density));
    }
    if (server.slices.empty()) continue;
    const std::size_t capacity = MaxFrameBytes(server.most);
    if (server.frame.size() < capacity) server.frame.resize(capacity);
    most = std::max(most, capacity);
    server.bytes = empty ? BucketFrame::WriteEmpty(gradients().FrameIdentity(), server.frame) : 0;
  }
  if (!own_.slices.empty() && answer_.size() < own_.frame.size()) answer_.resize(own_.frame.size());
  if (!push_ || push_->max_frame_bytes() < most) MakeExchanges(most);
  answered_ = 0;
  bytes_ = 0;
}

void PushPullRoute::MakeExchanges(std::size_t most) {
  // Everybody sends to those who add something up, and hears from them.
  const std::vector<bool> all(servers_.size(), true);
  const std::vector<bool> none(servers_.size(), false);
  std::vector<bool> adding;
  for (const Server& server : servers_) adding.push_back(!server.slices.empty());
  const bool adds = !own_.slices.empty();
  push_ = std::make_unique<FrameExchange>(transport_, most,
                                          FrameExchange::Pairs{adding, adds ? all : none});
  pull_ = std::make_unique<FrameExchange>(transport_, most,
                                          FrameExchange::Pairs{adds ? all : none, adding});
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
  Merge();
}

// In the order of the bucket, for Revert takes the first ones back; and so frame by frame, side by
// side.
void PushPullRoute::Push() {
  std::vector<BucketFrame::Writer> writers;
  writers.reserve(servers_.size());
  for (Server& server : servers_) writers.emplace_back(server.frame, server.most);
  for (const GradientSlice& slice : gradients().all()) {
    BucketFrame::Writer& writer = writers[static_cast<std::size_t>(slice.server)];
    writer.Put(gradients().Encode(slice, writer.Next()));
  }
  for (std::size_t r = 0; r < servers_.size(); ++r) {
    Server& server = servers_[r];
    if (server.slices.empty()) continue;
    server.bytes = writers[r].Seal(gradients().FrameIdentity());
    if (&server != &own_) bytes_ += server.bytes;
  }
}

PushPullRoute::Payloads PushPullRoute::Read(std::span<const std::byte> frame, const Server& server,
                                            std::size_t from) const {
  Payloads payloads(server.slices.size());
  const std::string* name = &gradients().bucket();
  try {
    BucketFrame::Read(frame, gradients().FrameIdentity(), server.most, payloads);
    for (std::size_t i = 0; i < payloads.size(); ++i) {
      const GradientSlice& slice = gradients().all()[server.slices[i]];
      name = &slice.name;
      slice.compressor->Check(payloads[i]);
    }
  } catch (const Corrupt& error) {
    const int rank = transport_.JobRank(static_cast<int>(from));
    throw Corrupt("the frame of rank " + std::to_string(rank) + " for '" + *name +
                      "' is corrupt: " + error.what(),
                  {*name, {rank}, "merge"});
  }
  return payloads;
}

void PushPullRoute::Answer() {
  if (own_.slices.empty()) return;
  std::vector<Payloads> received;
  for (std::size_t rank = 0; rank < servers_.size(); ++rank) {
    received.push_back(Read(push_->frames()[rank], own_, rank));
  }
  BucketFrame::Writer writer(answer_, own_.most);
  Payloads of_slice(received.size());
  for (std::size_t i = 0; i < own_.slices.size(); ++i) {
    std::ranges::transform(received, of_slice.begin(),
                           [i](const Payloads& payloads) { return payloads[i]; });
    writer.Put(AnswerSlice(i, of_slice, writer.Next()));
  }
  answer_bytes_ = writer.Seal(gradients().FrameIdentity());
  bytes_ += answer_bytes_;
}

std::size_t PushPullRoute::AnswerSlice(std::size_t i,
                                       std::span<const std::span<const std::byte>> payloads,
                                       std::span<std::byte> answer) {
  const GradientSlice& slice = gradients().all()[own_.slices[i]];
  const std::span<float> mean = std::span(mean_).first(slice.elements);
  slice.compressor->MergeMean(payloads, mean);
  before_[i].clear();
  for (const Compressor::StateArray& array : slice.answering->State()) {
    before_[i].emplace_back(array.values.begin(), array.values.end());
  }
  ++answered_;
  StepContext context = gradients().ContextOf(slice);
  context.gradient_scale = 1.0f;  // It is in the payloads.
  return slice.answering->Encode(context, mean, answer);
}

void PushPullRoute::Merge() {
  std::vector<Payloads> answers;
  for (std::size_t rank = 0; rank < servers_.size(); ++rank) {
    if (servers_[rank].slices.empty()) {
      answers.emplace_back();
    } else {
      answers.push_back(Read(pull_->frames()[rank], servers_[rank], rank));
    }
  }
  for (std::size_t rank = 0; rank < servers_.size(); ++rank) {
    for (std::size_t i = 0; i < servers_[rank].slices.size(); ++i) {
      const GradientSlice& slice = gradients().all()[servers_[rank].slices[i]];
      const std::span<float> mean = gradients().Target(slice);
      slice.compressor->MergeMean(std::span(answers[rank]).subspan(i, 1), mean);
      gradients().Finish(slice, mean);
    }
  }
}

Collective* PushPullRoute::Bind(std::size_t exchange) {
  if (exchange == 1) {
    pull_->Bind(std::span(answer_).first(own_.slices.empty() ? 0 : answer_bytes_));
    return pull_.get();
  }
  std::vector<std::span<const std::byte>> frames;
  for (const Server& server : servers_) frames.push_back(server.written());
  push_->BindEach(frames);
  return push_.get();
}

void PushPullRoute::Revert() {
  for (std::size_t i = 0; i < answered_; ++i) {
    Compressor& answering = *gradients().all()[own_.slices[i]].answering;
    const std::vector<Compressor::StateArray> arrays = answering.State();
    for (std::size_t a = 0; a < arrays.size(); ++a) {
      std::ranges::copy(before_[i][a], arrays[a].values.begin());
    }
    answering.Restored();
  }
  answered_ = 0;
}

}  // namespace weir
