#include "metrics/http/long_poll.h"

#include <algorithm>

namespace weir {

void LongPoll::Wait(std::chrono::milliseconds time, const std::function<bool()>& ready) {
  std::unique_lock lock(mutex_);
  if (waiting_ >= kMostWaiting) return;
  ++waiting_;
  const auto until =
      std::chrono::steady_clock::now() + std::min(time, std::chrono::milliseconds(kLongest));
  news_.wait_until(lock, until, [&] { return closed_ || ready(); });
  --waiting_;
}

void LongPoll::Wake() {
  // The lock reaches a waiter that has checked but does not sleep yet.
  const std::lock_guard lock(mutex_);
  news_.notify_all();
}

void LongPoll::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  news_.notify_all();
}

}  // namespace weir
