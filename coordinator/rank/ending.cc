#include "coordinator/rank/ending.h"

#include "coordinator/rank/failure.h"
#include "weir/error.h"

namespace weir {

void Ending::Set(const std::exception_ptr& error, bool failed) {
  std::lock_guard lock(mutex_);
  if (ended_) return;
  error_ = error;
  failed_ = failed;
  ended_ = true;
}

std::exception_ptr Ending::error() const {
  std::lock_guard lock(mutex_);
  return error_;
}

std::string Ending::failure() const {
  const std::lock_guard lock(mutex_);
  return failed_ ? WhatOf(error_) : "";
}

void Ending::ThrowIfEnded() {
  ThrowIfForked();
  if (shutting_down()) {
    throw ShutDown("Shutdown was called on this rank; nothing can be submitted any more");
  }
  if (!ended()) return;
  const std::lock_guard lock(mutex_);
  failed_ = true;  // In good order for others, perhaps: this rank's program wants to go on.
  std::rethrow_exception(error_);
}

void Ending::ThrowIfForked() const {
  if (!forked()) return;
  throw ShutDown("this process was forked from a rank; Weir works in the rank itself only");
}

}  // namespace weir
