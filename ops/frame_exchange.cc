#include "ops/frame_exchange.h"

#include <string>

#include "common/check.h"
#include "weir/error.h"

namespace weir {

FrameExchange::FrameExchange(Transport& transport, std::size_t max_frame_bytes)
    : transport_(transport),
      max_frame_bytes_(max_frame_bytes),
      scratch_(std::make_unique_for_overwrite<std::byte[]>(
          static_cast<std::size_t>(transport.size() - 1) * max_frame_bytes)),
      outgoing_(static_cast<std::size_t>(transport.size())),
      frames_(static_cast<std::size_t>(transport.size())),
      sends_(static_cast<std::size_t>(transport.size())),
      receives_(static_cast<std::size_t>(transport.size())) {
  WEIR_CHECK(max_frame_bytes <= kMostBytes);
}

void FrameExchange::Bind(std::span<const std::byte> frame) {
  for (std::size_t rank = 0; rank < outgoing_.size(); ++rank) Bind(rank, frame);
}

void FrameExchange::BindEach(std::span<const std::span<const std::byte>> frames) {
  WEIR_CHECK(frames.size() == outgoing_.size());
  for (std::size_t rank = 0; rank < outgoing_.size(); ++rank) Bind(rank, frames[rank]);
}

void FrameExchange::Bind(std::size_t rank, std::span<const std::byte> frame) {
  if (frame.size() > max_frame_bytes_) {
    throw InvalidArgument("a frame of " + std::to_string(frame.size()) +
                          " bytes is longer than the agreed bound of " +
                          std::to_string(max_frame_bytes_));
  }
  outgoing_[rank] = frame;
}

std::byte* FrameExchange::Slot(int peer) {
  const int slot = peer < transport_.rank() ? peer : peer - 1;
  return scratch_.get() + static_cast<std::size_t>(slot) * max_frame_bytes_;
}

void FrameExchange::Start(std::uint32_t operation) {
  const int size = transport_.size();
  const int self = transport_.rank();
  for (int step = 1; step < size; ++step) {
    const int from = (self + size - step) % size;
    receives_[static_cast<std::size_t>(from)].Receive(transport_, from, {operation, 0},
                                                      {Slot(from), max_frame_bytes_});
  }
  for (int step = 1; step < size; ++step) {
    const int to = (self + step) % size;
    const auto t = static_cast<std::size_t>(to);
    sends_[t].Send(transport_, to, {operation, 0}, outgoing_[t]);
  }
  frames_[static_cast<std::size_t>(self)] = outgoing_[static_cast<std::size_t>(self)];
}

bool FrameExchange::Poll() {
  bool done = true;
  for (int peer = 0; peer < transport_.size(); ++peer) {
    if (peer == transport_.rank()) continue;
    const auto p = static_cast<std::size_t>(peer);
    if (receives_[p].Done(transport_)) {
      frames_[p] = {Slot(peer), receives_[p].bytes()};
    } else {
      done = false;
    }
    done &= sends_[p].Done(transport_);
  }
  return done;
}

void FrameExchange::Cancel() {
  for (Pending& receive : receives_) receive.Cancel(transport_);
  for (Pending& send : sends_) send.Cancel(transport_);
}

}  // namespace weir
