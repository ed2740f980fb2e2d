#include "ops/local/transport.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <limits>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "common/check.h"
#include "weir/error.h"

namespace weir::local {

namespace {

/// A send as its receiver sees it.
struct Message {
  enum class State { kPosted, kTaken, kDone, kCancelled };
  int source = -1;
  Tag tag;
  std::span<const std::byte> data;
  std::atomic<State> state = State::kPosted;
};

bool SameTag(Tag a, Tag b) { return a.operation == b.operation && a.chunk == b.chunk; }

}  // namespace

/// Data that belongs to one rank and outlives its endpoint.
struct Mailbox {
  std::mutex mutex;
  std::vector<Message*> arrived;  ///< Guarded by mutex.
  std::function<void()> wake;     ///< Guarded by mutex, called under it.
  std::atomic<std::uint64_t> arrivals = 0;
  std::deque<Message> messages;  ///< All sends this rank ever had at once; its own thread only.
  std::vector<Message*> free;    ///< Unused ones; its own thread only.

  void Wake() {
    const std::lock_guard lock(mutex);
    if (wake) wake();
  }
};

namespace {

class Endpoint final : public Transport {
 public:
  Endpoint(std::shared_ptr<std::vector<Mailbox>> mailboxes, int rank)
      : mailboxes_(std::move(mailboxes)), rank_(rank), own_(MailboxOf(rank)) {}
  ~Endpoint() override;

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(mailboxes_->size()); }
  std::uint32_t operation_numbers() const override {
    return std::numeric_limits<std::uint32_t>::max();
  }
  Request Send(int peer, Tag tag, std::span<const std::byte> data) override;
  Request Receive(int peer, Tag tag, std::span<std::byte> buffer) override;
  std::optional<std::size_t> Test(Request request) override;
  void Cancel(Request request) override;
  bool SetWake(std::function<void()> wake) override;
  NetworkTotals totals() const override { return totals_; }
  std::string Describe() const override {
    return size() == 1 ? "none: there is one rank" : "memory of this process";
  }

 private:
  struct Slot {
    bool active = false;
    int peer = -1;
    Tag tag;
    std::span<std::byte> buffer;          ///< Buffer of a receive.
    Message* message = nullptr;           ///< Message of a send.
    std::optional<std::size_t> received;  ///< Length, once a message was matched.
  };

  Mailbox& MailboxOf(int rank) { return (*mailboxes_)[static_cast<std::size_t>(rank)]; }
  Request TakeSlot(int peer, Tag tag);
  void Release(Request request);
  void TakeArrivals();
  bool Deliver(Message& message, Slot& slot);

  std::shared_ptr<std::vector<Mailbox>> mailboxes_;
  int rank_;
  Mailbox& own_;
  std::uint64_t seen_arrivals_ = 0;
  std::vector<Message*> taken_;      ///< Scratch of TakeArrivals.
  std::vector<Message*> unmatched_;  ///< Arrived before their receive, in order.
  std::vector<Request> posted_;      ///< Receives without a message yet, in order.
  std::vector<Slot> slots_;
  std::vector<Request> free_slots_;
  NetworkTotals totals_;
};

Endpoint::~Endpoint() {
  SetWake(nullptr);
  for (Request request = 0; request < slots_.size(); ++request) {
    if (slots_[request].active) Cancel(request);
  }
}

Transport::Request Endpoint::TakeSlot(int peer, Tag tag) {
  WEIR_CHECK(peer >= 0 && peer < size());
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<Request>(slots_.size()));
    slots_.emplace_back();
  }
  const Request request = free_slots_.back();
  free_slots_.pop_back();
  slots_[request] = {
      .active = true, .peer = peer, .tag = tag, .buffer = {}, .message = nullptr, .received = {}};
  return request;
}

void Endpoint::Release(Request request) {
  slots_[request].active = false;
  free_slots_.push_back(request);
}

Transport::Request Endpoint::Send(int peer, Tag tag, std::span<const std::byte> data) {
  const Request request = TakeSlot(peer, tag);
  if (own_.free.empty()) own_.free.push_back(&own_.messages.emplace_back());
  Message* message = own_.free.back();
  own_.free.pop_back();
  message->source = rank_;
  message->tag = tag;
  message->data = data;
  message->state.store(Message::State::kPosted, std::memory_order_relaxed);
  slots_[request].message = message;

  Mailbox& mailbox = MailboxOf(peer);
  const std::lock_guard lock(mailbox.mutex);
  mailbox.arrived.push_back(message);
  mailbox.arrivals.fetch_add(1, std::memory_order_release);
  if (mailbox.wake) mailbox.wake();
  return request;
}

Transport::Request Endpoint::Receive(int peer, Tag tag, std::span<std::byte> buffer) {
  TakeArrivals();
  const Request request = TakeSlot(peer, tag);
  Slot& slot = slots_[request];
  slot.buffer = buffer;
  for (auto it = unmatched_.begin(); it != unmatched_.end();) {
    Message& message = **it;
    if (message.source != peer || !SameTag(message.tag, tag)) {
      ++it;
      continue;
    }
    it = unmatched_.erase(it);
    if (Deliver(message, slot)) return request;
  }
  posted_.push_back(request);
  return request;
}

/// Matches arrived messages with the receives that wait, in the order of arrival.
void Endpoint::TakeArrivals() {
  if (own_.arrivals.load(std::memory_order_acquire) == seen_arrivals_) return;
  {
    const std::lock_guard lock(own_.mutex);
    taken_.swap(own_.arrived);
    seen_arrivals_ = own_.arrivals.load(std::memory_order_relaxed);
  }
  for (Message* message : taken_) {
    const auto match = std::ranges::find_if(posted_, [&](Request request) {
      return slots_[request].peer == message->source && SameTag(slots_[request].tag, message->tag);
    });
    if (match == posted_.end()) {
      unmatched_.push_back(message);
    } else if (Deliver(*message, slots_[*match])) {
      posted_.erase(match);
    }
  }
  taken_.clear();
}

/// Copies the message into the slot's buffer. False when its sender has taken it back.
bool Endpoint::Deliver(Message& message, Slot& slot) {
  Message::State expected = Message::State::kPosted;
  if (!message.state.compare_exchange_strong(expected, Message::State::kTaken)) return false;
  const int source = message.source;
  const std::size_t bytes = message.data.size();
  slot.received = bytes;
  if (bytes > 0 && bytes <= slot.buffer.size()) {
    std::memcpy(slot.buffer.data(), message.data.data(), bytes);
  }
  message.state.store(Message::State::kDone, std::memory_order_release);
  MailboxOf(source).Wake();  // the message belongs to its sender again
  return true;
}

std::optional<std::size_t> Endpoint::Test(Request request) {
  TakeArrivals();
  const Slot slot = slots_[request];
  WEIR_CHECK(slot.active);
  if (slot.message != nullptr) {
    if (slot.message->state.load(std::memory_order_acquire) != Message::State::kDone) return {};
    own_.free.push_back(slot.message);
    Release(request);
    totals_.sent_bytes += slot.message->data.size();
    ++totals_.sent_messages;
    return slot.message->data.size();
  }
  if (!slot.received) return {};
  Release(request);
  if (*slot.received > slot.buffer.size()) {
    throw Corrupt("rank " + std::to_string(slot.peer) + " sent a message of " +
                      std::to_string(*slot.received) + " bytes where at most " +
                      std::to_string(slot.buffer.size()) + " are allowed",
                  {.tensor = {}, .ranks = {slot.peer}, .phase = "exchange"});
  }
  totals_.received_bytes += *slot.received;
  ++totals_.received_messages;
  return slot.received;
}

void Endpoint::Cancel(Request request) {
  Slot& slot = slots_[request];
  WEIR_CHECK(slot.active);
  if (slot.message != nullptr) {
    // A cancelled message stays with the network: its receiver may still hold a pointer to it.
    Message::State expected = Message::State::kPosted;
    if (!slot.message->state.compare_exchange_strong(expected, Message::State::kCancelled)) {
      while (slot.message->state.load(std::memory_order_acquire) != Message::State::kDone) {
        std::this_thread::yield();  // the receiver is copying
      }
      own_.free.push_back(slot.message);
    }
  } else {
    std::erase(posted_, request);
  }
  Release(request);
}

bool Endpoint::SetWake(std::function<void()> wake) {
  const std::lock_guard lock(own_.mutex);
  own_.wake = std::move(wake);
  return true;
}

}  // namespace

Network::Network(int size)
    : mailboxes_(std::make_shared<std::vector<Mailbox>>(static_cast<std::size_t>(size))) {
  WEIR_CHECK(size >= 1);
}

int Network::size() const { return static_cast<int>(mailboxes_->size()); }

std::unique_ptr<Transport> Network::Endpoint(int rank) {
  WEIR_CHECK(rank >= 0 && rank < size());
  return std::make_unique<local::Endpoint>(mailboxes_, rank);
}

}  // namespace weir::local
