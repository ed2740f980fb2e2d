#include "coordinator/routes/push_frames.h"

#include <algorithm>
#include <numeric>

#include "coordinator/gradients/corrupt_frame.h"
#include "ops/exchanges/frame_exchange.h"
#include "weir/error.h"

namespace weir {

PushFrames::PushFrames(GradientSlices& gradients, std::size_t servers, std::size_t head_bytes)
    : gradients_(gradients), head_bytes_(head_bytes), servers_(servers) {
  for (std::size_t i = 0; i < gradients.all().size(); ++i) {
    servers_.at(static_cast<std::size_t>(gradients.all()[i].server)).slices.push_back(i);
  }
}

bool PushFrames::Suits(const GradientSlices& gradients, std::size_t servers, double density,
                       std::size_t head_bytes) {
  std::vector<std::size_t> bytes(servers, head_bytes);
  std::vector<std::size_t> payloads(servers, head_bytes == 0 ? 0 : 1);
  for (const GradientSlice& slice : gradients.all()) {
    bytes[static_cast<std::size_t>(slice.server)] += gradients.MaxEncodedBytes(slice, density);
    ++payloads[static_cast<std::size_t>(slice.server)];
  }
  for (std::size_t s = 0; s < servers; ++s) {
    if (BucketFrame::MaxBytes(payloads[s], bytes[s]) > FrameExchange::kMostBytes) return false;
  }
  return true;
}

std::size_t PushFrames::Prepare(bool empty) {
  std::size_t longest = 0;
  for (Server& server : servers_) {
    server.most.clear();
    server.bytes = 0;
    if (server.slices.empty()) continue;
    if (head_bytes_ != 0) server.most.push_back(head_bytes_);
    for (const std::size_t i : server.slices) {
      server.most.push_back(
          gradients_.MaxEncodedBytes(gradients_.all()[i], gradients_.step().density));
    }
    const std::size_t capacity = BucketFrame::MaxBytes(
        server.most.size(), std::reduce(server.most.begin(), server.most.end()));
    if (server.frame.size() < capacity) server.frame.resize(capacity);
    longest = std::max(longest, capacity);
    if (empty) server.bytes = BucketFrame::WriteEmpty(gradients_.FrameIdentity(), server.frame);
  }
  return longest;
}

// In the order of the bucket, because GradientSlices::Revert takes the first ones back; so all
// frames are written side by side.
void PushFrames::Push(std::span<const std::byte> head) {
  std::vector<BucketFrame::Writer> writers;
  writers.reserve(servers_.size());
  for (Server& server : servers_) {
    writers.emplace_back(server.frame, server.most);
    if (server.slices.empty() || head_bytes_ == 0) continue;
    std::ranges::copy(head, writers.back().Next().begin());
    writers.back().Put(head.size());
  }
  for (const GradientSlice& slice : gradients_.all()) {
    BucketFrame::Writer& writer = writers[static_cast<std::size_t>(slice.server)];
    writer.Put(gradients_.Encode(slice, writer.Next()));
  }
  for (std::size_t s = 0; s < servers_.size(); ++s) {
    if (servers_[s].slices.empty()) continue;
    servers_[s].bytes = writers[s].Seal(gradients_.FrameIdentity());
  }
}

std::span<const std::byte> PushFrames::frame(std::size_t server) const {
  return std::span(servers_[server].frame).first(servers_[server].bytes);
}

PushFrames::Payloads PushFrames::Read(std::size_t server, std::span<const std::byte> frame,
                                      const std::string& what, int rank) const {
  const std::vector<std::size_t>& slices = servers_[server].slices;
  Payloads payloads(slices.size());
  const std::string* name = &gradients_.bucket();
  try {
    BucketFrame::Read(frame, gradients_.FrameIdentity(), most(server), payloads);
    for (std::size_t i = 0; i < payloads.size(); ++i) {
      const GradientSlice& slice = gradients_.all()[slices[i]];
      name = &slice.name;
      slice.compression->Check(payloads[i]);
    }
  } catch (const Corrupt& error) {
    throw CorruptFrame(what, *name, rank, error.what());
  }
  return payloads;
}

void PushFrames::Deliver(std::span<const std::span<const std::byte>> answers,
                         const std::function<Sender(std::size_t)>& sender) const {
  std::vector<Payloads> payloads(servers_.size());
  for (std::size_t s = 0; s < servers_.size(); ++s) {
    if (servers_[s].slices.empty()) continue;
    const Sender from = sender(s);
    payloads[s] = Read(s, answers[s], from.what, from.rank);
  }
  for (std::size_t s = 0; s < servers_.size(); ++s) {
    for (std::size_t i = 0; i < servers_[s].slices.size(); ++i) {
      const GradientSlice& slice = gradients_.all()[servers_[s].slices[i]];
      const std::span<float> mean = gradients_.Target(slice);
      slice.compression->MergeMean(std::span(payloads[s]).subspan(i, 1), mean);
      gradients_.Finish(slice, mean);
    }
  }
}

}  // namespace weir
