#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace weir {

/// Lets a few requests wait for news. Those beyond kMostWaiting are answered at once, so that there
/// is always a thread for others. Thread-safe.
class LongPoll {
 public:
  static constexpr int kMostWaiting = 4;
  static constexpr std::chrono::seconds kLongest{10};

  /// Returns when `ready()`, when the time is over, or after Close. `ready` is called
  /// after each Wake; it must not block.
  void Wait(std::chrono::milliseconds time, const std::function<bool()>& ready);
  /// Reports news.
  void Wake();
  /// Ends all waits, now and later.
  void Close();

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  int waiting_ = 0;
  bool closed_ = false;
};

}  // namespace weir
