#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/work/network_waiter.h"
#include "ops/membership/membership.h"

namespace weir {

class Bucket;
class Operation;

/// A message from another thread to the network thread.
struct InboxEvent {
  enum class Kind {
    kReady,           ///< The bucket of gradients is complete on this rank.
    kSubmitted,       ///< The operation, which is the bucket, was submitted.
    kStaged,          ///< The bucket's next stage is the network thread's.
    kDone,            ///< No stage is left of the bucket of gradients: its run is over.
    kFailed,          ///< A stage threw `error`.
    kMembership,      ///< `membership` happened.
    kShutdown,        ///< This rank wants to leave.
    kAbort,           ///< End the engine with `error`.
    kDeadlinePassed,  ///< A wait took longer than `text` says.
    kServers,         ///< Tell the servers `message`, if any; `serve`: start serving.
    kFence,           ///< Fulfil `fence`: everything posted before has been handled.
  };
  Kind kind = Kind::kReady;
  Bucket* bucket = nullptr;
  Operation* operation = nullptr;
  std::int64_t ready_ns = 0;  ///< Time when it was complete.
  std::exception_ptr error;
  MembershipEvent membership;
  std::string text;
  std::vector<std::byte> message;
  bool serve = false;
  std::shared_ptr<std::promise<void>> fence;
};

/// Queue of messages from other threads to the network thread, which a post wakes. Thread-safe.
/// Allocates only while it grows.
class Inbox {
 public:
  explicit Inbox(NetworkWaiter& waiter) : waiter_(waiter) {}

  /// Posts an event. False if the inbox is closed, so that the event will not be handled.
  bool Post(InboxEvent event) {
    {
      std::lock_guard lock(mutex_);
      if (closed_) return false;
      events_.push_back(std::move(event));
    }
    waiter_.Wake();
    return true;
  }
  bool Post(InboxEvent::Kind kind, Bucket* bucket) {
    return Post({.kind = kind, .bucket = bucket});
  }

  /// Swaps the new events into `events`, which the caller has emptied.
  void Drain(std::vector<InboxEvent>& events) {
    std::lock_guard lock(mutex_);
    events_.swap(events);
  }

  /// Drains for the last time. From now on Post refuses.
  void Close(std::vector<InboxEvent>& events) {
    std::lock_guard lock(mutex_);
    closed_ = true;
    events_.swap(events);
  }

 private:
  NetworkWaiter& waiter_;
  std::mutex mutex_;
  std::vector<InboxEvent> events_;
  bool closed_ = false;
};

}  // namespace weir
