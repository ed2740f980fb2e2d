#pragma once

#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "coordinator/waiter.h"
#include "ops/membership.h"

namespace weir {

class Bucket;

/// What other threads tell the network thread.
struct InboxEvent {
  enum class Kind {
    kReady,       ///< The bucket is complete on this rank.
    kStaged,      ///< Its next stage is the network's.
    kDone,        ///< Its run is over.
    kFailed,      ///< A stage threw `error`.
    kMembership,  ///< `membership` happened.
    kShutdown,    ///< This rank wants to leave.
    kAbort,       ///< End the engine with `error`.
  };
  Kind kind = Kind::kReady;
  Bucket* bucket = nullptr;
  std::exception_ptr error;
  MembershipEvent membership;
};

/// The ReadyQueue of the design, and everything else that wakes the network thread. Thread-safe.
/// Allocates only while it grows.
class Inbox {
 public:
  explicit Inbox(Waiter& waiter) : waiter_(waiter) {}

  void Post(InboxEvent event) {
    {
      std::lock_guard lock(mutex_);
      events_.push_back(std::move(event));
    }
    waiter_.Wake();
  }
  void Post(InboxEvent::Kind kind, Bucket* bucket) { Post({.kind = kind, .bucket = bucket}); }

  /// Swaps what has come into `events`, which was emptied by the caller.
  void Drain(std::vector<InboxEvent>& events) {
    std::lock_guard lock(mutex_);
    events_.swap(events);
  }

 private:
  Waiter& waiter_;
  std::mutex mutex_;
  std::vector<InboxEvent> events_;
};

}  // namespace weir
