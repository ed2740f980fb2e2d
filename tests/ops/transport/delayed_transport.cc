#include "tests/ops/transport/delayed_transport.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <random>
#include <utility>

#include "common/check.h"

namespace weir {

using Clock = VirtualNetwork::Clock;

/// Messages that are on their way, and how long each wire is taken.
struct VirtualNetwork::State {
  struct Message {
    int from;
    int to;
    Tag tag;
    Clock::time_point start;  ///< First byte enters the sender's wire.
    Clock::duration duration;
    Clock::duration jitter;
  };
  State(int ranks, const Link& network_link)
      : link(network_link),
        outgoing_free(static_cast<std::size_t>(ranks)),
        incoming_free(static_cast<std::size_t>(ranks)) {
    for (std::uint32_t r = 0; r < outgoing_free.size(); ++r) {
      std::seed_seq seeds{link.seed, r};
      draws.emplace_back(seeds);
    }
  }

  Clock::duration Jitter(int from) {
    std::uniform_int_distribution<std::int64_t> up_to(0, link.jitter.count());
    return std::chrono::nanoseconds(up_to(draws[static_cast<std::size_t>(from)]));
  }

  const Link link;
  std::mutex mutex;
  std::deque<Message> messages;
  std::vector<Clock::time_point> outgoing_free;
  std::vector<Clock::time_point> incoming_free;
  std::vector<std::mt19937> draws;  // By sender.
};

VirtualNetwork::VirtualNetwork(int ranks, Link link)
    : state_(std::make_unique<State>(ranks, link)) {
  WEIR_CHECK(link.bytes_per_second > 0);
}

VirtualNetwork::~VirtualNetwork() = default;

Clock::time_point VirtualNetwork::Send(int from, int to, Tag tag, std::size_t bytes) {
  const std::lock_guard lock(state_->mutex);
  const auto duration = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(static_cast<double>(bytes) / state_->link.bytes_per_second));
  Clock::time_point& free = state_->outgoing_free[static_cast<std::size_t>(from)];
  const Clock::time_point start = std::max(Clock::now(), free);
  free = start + duration;
  state_->messages.push_back({from, to, tag, start, duration, state_->Jitter(from)});
  return free;
}

Clock::time_point VirtualNetwork::Receive(int from, int to, Tag tag) {
  const std::lock_guard lock(state_->mutex);
  const auto message = std::ranges::find_if(state_->messages, [&](const State::Message& m) {
    return m.from == from && m.to == to && m.tag.operation == tag.operation &&
           m.tag.chunk == tag.chunk;
  });
  WEIR_CHECK(message != state_->messages.end());
  Clock::time_point& free = state_->incoming_free[static_cast<std::size_t>(to)];
  free = std::max(message->start, free) + message->duration;
  const Clock::time_point arrival = free + state_->link.latency + message->jitter;
  state_->messages.erase(message);
  return arrival;
}

DelayedTransport::DelayedTransport(std::unique_ptr<Transport> inner,
                                   std::shared_ptr<VirtualNetwork> network)
    : ForwardingTransport(std::move(inner)), network_(std::move(network)) {}

Transport::Request DelayedTransport::TakeSlot(const Slot& slot) {
  if (free_.empty()) {
    free_.push_back(static_cast<Request>(slots_.size()));
    slots_.emplace_back();
  }
  const Request request = free_.back();
  free_.pop_back();
  slots_[request] = slot;
  return request;
}

void DelayedTransport::FreeSlot(Request request) {
  slots_[request] = {};
  free_.push_back(request);
}

Transport::Request DelayedTransport::Send(int peer, Tag tag, std::span<const std::byte> data) {
  // The virtual message first: its receiver asks for it as soon as the real one is there.
  const Clock::time_point due = network_->Send(rank(), peer, tag, data.size());
  return TakeSlot({.inner = inner().Send(peer, tag, data),
                   .peer = peer,
                   .tag = tag,
                   .sending = true,
                   .bytes = {},
                   .due = due});
}

Transport::Request DelayedTransport::Receive(int peer, Tag tag, std::span<std::byte> buffer) {
  return TakeSlot({.inner = inner().Receive(peer, tag, buffer),
                   .peer = peer,
                   .tag = tag,
                   .sending = false,
                   .bytes = {},
                   .due = {}});
}

std::optional<std::size_t> DelayedTransport::Test(Request request) {
  Slot& slot = slots_[request];
  if (!slot.bytes) {
    slot.bytes = inner().Test(slot.inner);
    if (!slot.bytes) return {};
    if (!slot.sending) slot.due = network_->Receive(slot.peer, rank(), slot.tag);
  }
  if (Clock::now() < slot.due) return {};
  const auto bytes = slot.bytes;
  FreeSlot(request);
  return bytes;
}

void DelayedTransport::Cancel(Request request) {
  Slot& slot = slots_[request];
  if (!slot.bytes) inner().Cancel(slot.inner);
  FreeSlot(request);
}

std::int64_t DelayedTransport::next_due_ns() const {
  auto next = Clock::time_point::max();
  for (const Slot& slot : slots_) {
    if (slot.bytes) next = std::min(next, slot.due);
  }
  if (next == Clock::time_point::max()) return 0;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(next.time_since_epoch()).count();
}

}  // namespace weir
