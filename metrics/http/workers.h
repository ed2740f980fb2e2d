#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace weir {

/// Eight threads ("weir-http-work") that make answers: twice those that may wait for news
/// (LongPoll). Work that has not begun is dropped on destruction. Thread-safe.
class HttpWorkers {
 public:
  HttpWorkers();

  void Push(std::function<void()> task);

 private:
  void Work(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any pushed_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::jthread> threads_;  ///< Last: ends first.
};

}  // namespace weir
