#include "plugins/python/src/jax/completions.h"

#include <exception>
#include <optional>
#include <utility>

#include "common/threads/thread_name.h"
#include "weir/error.h"

namespace weir::python {

namespace ffi = xla::ffi;

ffi::Error CurrentError() {
  using Code = ffi::ErrorCode;
  try {
    throw;
  } catch (const InvalidArgument& error) {
    return {Code::kInvalidArgument, error.what()};
  } catch (const Mismatch& error) {
    return {Code::kFailedPrecondition, error.what()};
  } catch (const PeerLost& error) {
    return {Code::kUnavailable, error.what()};
  } catch (const TimedOut& error) {
    return {Code::kDeadlineExceeded, error.what()};
  } catch (const Corrupt& error) {
    return {Code::kDataLoss, error.what()};
  } catch (const ShutDown& error) {
    return {Code::kCancelled, error.what()};
  } catch (const std::exception& error) {
    return {Code::kInternal, error.what()};
  }
}

Completions::Completions() : thread_([this] { Run(); }) {}

Completions::~Completions() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

ffi::Future Completions::Begun(std::function<void()> wait) {
  ffi::Promise promise;
  ffi::Future future(promise);
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(wait), std::move(promise)});
  }
  changed_.notify_one();
  return future;
}

ffi::Future Completions::Failed() {
  ffi::Promise promise;
  ffi::Future future(promise);
  promise.SetError(CurrentError());
  return future;
}

// What the wait holds is let go first: who hears of the end may leave the job at once.
void Completions::Fulfil(Waiting waiting) {
  std::optional<ffi::Error> error;
  try {
    waiting.wait();
  } catch (...) {
    error = CurrentError();
  }
  waiting.wait = nullptr;
  if (error) {
    waiting.promise.SetError(*error);
  } else {
    waiting.promise.SetAvailable();
  }
}

void Completions::Run() {
  NameThread("weir-jax");
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    Fulfil(std::move(next));
    lock.lock();
  }
}

}  // namespace weir::python
