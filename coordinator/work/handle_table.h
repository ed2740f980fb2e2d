#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <vector>

#include "weir/handle.h"

namespace weir {

/// Table of operations that were submitted and not yet waited for. Thread-safe. Allocates only
/// while the number of live handles grows.
class HandleTable {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  /// Returns a new pending handle. It is fulfilled once `parts` calls of Complete have named it, or
  /// one with an error.
  Handle Create(std::uint32_t parts = 1);

  /// Fulfils a part of a handle, with or without an error. Ignored once it is fulfilled or
  /// forgotten.
  void Complete(Handle handle, const std::exception_ptr& error = nullptr);
  void Complete(std::span<const Handle> handles, const std::exception_ptr& error = nullptr);

  /// True once the operation has succeeded or failed. Throws InvalidArgument for an unknown handle.
  bool Poll(Handle handle) const;

  /// True if the handle exists and was not waited for yet.
  bool IsKnown(Handle handle) const;

  enum class WaitResult { kDone, kDeadlinePassed };
  /// Waits, forgets the handle, and throws its error if it has one. If the deadline passes, forgets
  /// nothing. Throws InvalidArgument for a handle that is unknown or was already waited for.
  WaitResult Wait(Handle handle, Deadline deadline);

  /// Fulfils every pending handle with `error`.
  void FailAll(const std::exception_ptr& error);

 private:
  struct Slot {
    std::uint32_t generation = 1;
    bool live = false;
    bool done = false;
    std::uint32_t parts_left = 1;
    std::exception_ptr error;
  };

  // The caller holds mutex_.
  Slot* Find(Handle handle);
  const Slot& FindOrThrow(Handle handle) const;
  void CompleteLocked(Handle handle, const std::exception_ptr& error);
  void Forget(std::uint32_t index);

  mutable std::mutex mutex_;
  std::condition_variable done_;
  int waiters_ = 0;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace weir
