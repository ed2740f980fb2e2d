#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>

#include "common/threads/fork_generation.h"

namespace weir {

/// Tells whether a rank's engine takes anything more, and why not. It ends once: by Shutdown, by a
/// failure, or by either on another rank. Thread-safe.
class Ending {
 public:
  /// Ends the engine for this reason; the first one stays. `failed`: not in good order.
  void Set(const std::exception_ptr& error, bool failed);
  bool ended() const { return ended_.load(std::memory_order_acquire); }
  /// Returns the reason; null before the end.
  std::exception_ptr error() const;
  /// Returns what kept the program from doing all that it wanted to; empty: nothing has.
  std::string failure() const;

  /// Notes that the program calls Shutdown. True the first time.
  bool BeginShutdown() { return !shutting_down_.exchange(true); }
  bool shutting_down() const { return shutting_down_.load(std::memory_order_acquire); }

  /// Throws the reason if nothing can be submitted any more.
  void ThrowIfEnded();
  void ThrowIfForked() const;
  /// True if this process is a child of the rank's: none of its threads exist here.
  bool forked() const { return ForkGeneration() != fork_generation_; }

 private:
  const std::uint64_t fork_generation_ = ForkGeneration();
  mutable std::mutex mutex_;
  std::atomic<bool> shutting_down_ = false;
  std::atomic<bool> ended_ = false;
  std::exception_ptr error_;
  bool failed_ = false;  ///< True if it ended by error_, not in good order.
};

}  // namespace weir
