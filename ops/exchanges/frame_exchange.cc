#include "ops/exchanges/frame_exchange.h"

#include <string>
#include <utility>

#include "common/check.h"
#include "weir/error.h"

namespace weir {

FrameExchange::FrameExchange(Transport& transport, std::size_t max_frame_bytes)
    : FrameExchange(transport, max_frame_bytes,
                    {std::vector<bool>(static_cast<std::size_t>(transport.size()), true),
                     std::vector<bool>(static_cast<std::size_t>(transport.size()), true)}) {}

FrameExchange::FrameExchange(Transport& transport, std::size_t max_frame_bytes, Pairs pairs)
    : transport_(transport),
      max_frame_bytes_(max_frame_bytes),
      pairs_(std::move(pairs)),
      slots_(static_cast<std::size_t>(transport.size())),
      outgoing_(static_cast<std::size_t>(transport.size())),
      frames_(static_cast<std::size_t>(transport.size())),
      sends_(static_cast<std::size_t>(transport.size())),
      receives_(static_cast<std::size_t>(transport.size())) {
  WEIR_CHECK(max_frame_bytes <= kMostBytes);
  pairs_.to.at(static_cast<std::size_t>(transport.rank())) = false;
  pairs_.from.at(static_cast<std::size_t>(transport.rank())) = false;
  std::size_t senders = 0;
  for (std::size_t rank = 0; rank < slots_.size(); ++rank) {
    slots_[rank] = senders;
    senders += pairs_.from[rank] ? 1 : 0;
  }
  scratch_ = std::make_unique_for_overwrite<std::byte[]>(senders * max_frame_bytes);
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

std::byte* FrameExchange::Slot(std::size_t peer) {
  return scratch_.get() + slots_[peer] * max_frame_bytes_;
}

void FrameExchange::Start(std::uint32_t operation) {
  const int size = transport_.size();
  const int self = transport_.rank();
  for (int step = 1; step < size; ++step) {
    const int from = (self + size - step) % size;
    const auto f = static_cast<std::size_t>(from);
    if (!pairs_.from[f]) continue;
    receives_[f].Receive(transport_, from, {operation, 0}, {Slot(f), max_frame_bytes_});
  }
  for (int step = 1; step < size; ++step) {
    const int to = (self + step) % size;
    const auto t = static_cast<std::size_t>(to);
    if (pairs_.to[t]) sends_[t].Send(transport_, to, {operation, 0}, outgoing_[t]);
  }
  frames_[static_cast<std::size_t>(self)] = outgoing_[static_cast<std::size_t>(self)];
}

bool FrameExchange::Poll() {
  bool done = true;
  for (std::size_t p = 0; p < frames_.size(); ++p) {
    if (pairs_.to[p]) done &= sends_[p].Done(transport_);
    if (!pairs_.from[p]) continue;
    if (receives_[p].Done(transport_)) {
      frames_[p] = {Slot(p), receives_[p].bytes()};
    } else {
      done = false;
    }
  }
  return done;
}

void FrameExchange::Cancel() {
  for (Pending& receive : receives_) receive.Cancel(transport_);
  for (Pending& send : sends_) send.Cancel(transport_);
}

}  // namespace weir
