#include "common/threads/thread_pool.h"

#include <utility>

#include "common/check.h"
#include "common/threads/background_thread.h"
#include "common/threads/thread_name.h"

namespace weir {

ThreadPool::ThreadPool(int threads, std::string_view name) {
  WEIR_CHECK(threads >= 1);
  workers_.reserve(static_cast<std::size_t>(threads - 1));
  for (int i = 1; i < threads; ++i) {
    workers_.emplace_back([this, thread_name = std::string(name) + "/" + std::to_string(i)](
                              const std::stop_token& stop) { Serve(stop, thread_name); });
  }
}

ThreadPool::~ThreadPool() = default;

namespace {

/// Calls one part and keeps its exception.
template <typename Loop>
std::exception_ptr Attempt(const Loop& loop, int part) {
  try {
    loop.call(loop.target, part);
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

void ThreadPool::RunAlone(const Loop& loop) {
  std::exception_ptr first;
  for (int part = 0; part < loop.parts; ++part) {
    std::exception_ptr error = Attempt(loop, part);
    if (error && !first) first = std::move(error);
  }
  if (first) std::rethrow_exception(first);
}

void ThreadPool::Run(const Loop& loop) {
  if (workers_.empty() || loop.parts <= 1) return RunAlone(loop);
  const std::lock_guard turn(turn_);
  {
    const std::lock_guard lock(mutex_);
    loop_ = loop;
    next_part_.store(0, std::memory_order_relaxed);
    ++generation_;
    open_ = true;
    error_ = nullptr;
  }
  wake_.notify_all();
  ClaimParts(loop);

  std::unique_lock lock(mutex_);
  // A worker that wakes only now finds no part left; it need not be waited for.
  open_ = false;
  idle_.wait(lock, [this] { return busy_ == 0; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadPool::ClaimParts(const Loop& loop) {
  for (;;) {
    const int part = next_part_.fetch_add(1, std::memory_order_relaxed);
    if (part >= loop.parts) return;
    if (std::exception_ptr error = Attempt(loop, part)) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::move(error);
    }
  }
}

void ThreadPool::Serve(const std::stop_token& stop, const std::string& name) {
  NameThread(name);
  WorkInBackground();
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (wake_.wait(lock, stop, [&] { return open_ && generation_ != seen; })) {
    seen = generation_;
    const Loop loop = loop_;
    ++busy_;
    lock.unlock();
    ClaimParts(loop);
    lock.lock();
    if (--busy_ == 0) idle_.notify_one();
  }
}

}  // namespace weir
