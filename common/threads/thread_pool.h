#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

namespace weir {

/// A fixed set of threads that share the parts of one loop. The caller of a loop works
/// too. Parts are claimed one by one, so a thread that wakes late or is interrupted only
/// does less. Loops allocate nothing.
///
/// Thread-safe: loops of several callers take turns. A loop must not start another loop on the same
/// pool (it would wait for itself).
class ThreadPool {
 public:
  /// `threads` counts the caller of ParallelFor: ThreadPool(1) starts none. The others are named
  /// "<name>/1", "<name>/2", ... (the system keeps 15 characters).
  explicit ThreadPool(int threads, std::string_view name = "weir");
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls `function(part)` once for each part in [0, parts) and returns when all have returned. An
  /// exception of one part does not stop the others; the first one is rethrown at the end.
  template <typename Function>
  void ParallelFor(int parts, Function&& function) {
    using Target = std::remove_reference_t<Function>;
    const auto call = [](const void* target, int part) {
      (*static_cast<Target*>(const_cast<void*>(target)))(part);
    };
    Run({call, std::addressof(function), parts});
  }

 private:
  struct Loop {
    void (*call)(const void* target, int part) = nullptr;
    const void* target = nullptr;
    int parts = 0;
  };

  static void RunAlone(const Loop& loop);
  void Run(const Loop& loop);
  void ClaimParts(const Loop& loop);
  void Serve(const std::stop_token& stop, const std::string& name);

  std::mutex turn_;  ///< Held by the caller whose loop runs.

  std::mutex mutex_;  ///< Guards all members below, except next_part_.
  std::condition_variable_any wake_;
  std::condition_variable idle_;
  Loop loop_;
  std::uint64_t generation_ = 0;  ///< Loops so far.
  bool open_ = false;             ///< A worker may still join the current loop.
  int busy_ = 0;                  ///< Workers inside the current loop.
  std::exception_ptr error_;
  std::atomic<int> next_part_ = 0;

  std::vector<std::jthread> workers_;  ///< Last: they stop before the rest is destroyed.
};

}  // namespace weir
