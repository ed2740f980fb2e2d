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

#include "coordinator/work/waiter.h"
#include "ops/membership/membership.h"

namespace weir {

class Bucket;
class Operation;

/// What other threads tell the network thread.
struct InboxEvent {
  enum class Kind {
    kReady,           ///< The bucket of gradients is complete on this rank.
    kSubmitted,       ///< The operation, which is the bucket, is.
    kStaged,          ///< Its next stage is the network's.
    kDone,            ///< Its run is over.
    kFailed,          ///< A stage threw `error`.
    kMembership,      ///< `membership` happened.
    kShutdown,        ///< This rank wants to leave.
    kAbort,           ///< End the engine with `error`.
    kDeadlinePassed,  ///< A wait took longer than `text` says.
    kServers,         ///< Tell the servers `message`, if any; `serve`: be one.
    kFence,           ///< Fulfil `fence`: everything posted before has been handled.
  };
  Kind kind = Kind::kReady;
  Bucket* bucket = nullptr;
  Operation* operation = nullptr;
  std::int64_t ready_ns = 0;  ///< When it was complete.
  std::exception_ptr error;
  MembershipEvent membership;
  std::string text;
  std::vector<std::byte> message;
  bool serve = false;
  std::shared_ptr<std::promise<void>> fence;
};

/// Everything that other threads tell the network thread; a post wakes it. Thread-safe.
/// Allocates only while it grows.
class Inbox {
 public:
  explicit Inbox(Waiter& waiter) : waiter_(waiter) {}

  /// False when the inbox is closed: nobody will handle the event.
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

  /// Swaps what has come into `events`, which was emptied by the caller.
  void Drain(std::vector<InboxEvent>& events) {
    std::lock_guard lock(mutex_);
    events_.swap(events);
  }

  /// The last Drain: from now on Post refuses.
  void Close(std::vector<InboxEvent>& events) {
    std::lock_guard lock(mutex_);
    closed_ = true;
    events_.swap(events);
  }

 private:
  Waiter& waiter_;
  std::mutex mutex_;
  std::vector<InboxEvent> events_;
  bool closed_ = false;
};

}  // namespace weir
