#include "metrics/http/workers.h"

#include <utility>

#include "common/threads/thread_name.h"

namespace weir {

HttpWorkers::HttpWorkers() {
  constexpr int kThreads = 8;
  for (int i = 0; i < kThreads; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { Work(stop); });
  }
}

void HttpWorkers::Push(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  pushed_.notify_one();
}

void HttpWorkers::Work(const std::stop_token& stop) {
  NameThread("weir-http-work");
  std::unique_lock lock(mutex_);
  while (pushed_.wait(lock, stop, [this] { return !tasks_.empty(); })) {
    if (stop.stop_requested()) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace weir
