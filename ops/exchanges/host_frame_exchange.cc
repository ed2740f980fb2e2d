#include "ops/exchanges/host_frame_exchange.h"

namespace weir {

HostFrameExchange::HostFrameExchange(Transport& transport, const HostGrid& grid,
                                     std::size_t max_frame_bytes)
    : max_frame_bytes_(max_frame_bytes),
      local_network_(transport, grid.local()),
      frames_(static_cast<std::size_t>(grid.hosts())),
      local_(frames_.size()) {
  if (grid.place() == 0) {
    first_ranks_.emplace(transport, grid.Across());
    exchange_.emplace(*first_ranks_, max_frame_bytes);
    local_.resize(frames_.size() * static_cast<std::size_t>(grid.ranks_per_host() - 1));
  } else {
    scratch_ = std::make_unique_for_overwrite<std::byte[]>(frames_.size() * max_frame_bytes);
  }
}

void HostFrameExchange::Bind(std::span<const std::byte> frame) {
  if (exchange_) exchange_->Bind(frame);
}

// Messages on a host and between hosts connect different ranks, so all may have the operation's
// number. Those among ranks of a host are told apart by the frame's host.
void HostFrameExchange::Start(std::uint32_t operation) {
  operation_ = operation;
  handed_on_ = !exchange_;
  if (exchange_) return exchange_->Start(operation);
  for (std::size_t host = 0; host < frames_.size(); ++host) {
    local_[host].Receive(local_network_, 0, {operation, static_cast<std::uint32_t>(host)},
                         {scratch_.get() + host * max_frame_bytes_, max_frame_bytes_});
  }
}

void HostFrameExchange::HandOn() {
  std::size_t next = 0;
  for (std::size_t host = 0; host < frames_.size(); ++host) {
    frames_[host] = exchange_->frames()[host];
    for (int rank = 1; rank < local_network_.size(); ++rank) {
      local_[next++].Send(local_network_, rank, {operation_, static_cast<std::uint32_t>(host)},
                          frames_[host]);
    }
  }
  handed_on_ = true;
}

bool HostFrameExchange::Poll() {
  if (!handed_on_) {
    if (!exchange_->Poll()) return false;
    HandOn();
  }
  bool done = true;
  for (std::size_t i = 0; i < local_.size(); ++i) {
    if (!local_[i].Done(local_network_)) {
      done = false;
    } else if (!exchange_) {
      frames_[i] = {scratch_.get() + i * max_frame_bytes_, local_[i].bytes()};
    }
  }
  return done;
}

void HostFrameExchange::Cancel() {
  if (exchange_) exchange_->Cancel();
  for (Pending& message : local_) message.Cancel(local_network_);
  handed_on_ = true;
}

}  // namespace weir
