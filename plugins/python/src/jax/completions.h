#pragma once

#include <xla/ffi/api/ffi.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace weir::python {

/// Tells XLA when what it began is done, so that no thread of XLA's waits for the network: a thread
/// of its own waits, for one thing after the other. Every rank begins things in the order of the
/// same program, so that none waits behind one that cannot end. Thread-safe.
class Completions {
 public:
  Completions();
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;
  /// Waits for what was begun.
  ~Completions();

  /// Returns a future that is fulfilled when `wait` returns, and fails with what it throws.
  xla::ffi::Future Begun(std::function<void()> wait);

  /// Returns a future that has failed with an error of Weir's. Call it in a catch block.
  static xla::ffi::Future Failed();

 private:
  struct Waiting {
    std::function<void()> wait;
    xla::ffi::Promise promise;
  };

  void Run();
  static void Fulfil(Waiting waiting);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  bool ends_ = false;
  std::thread thread_;
};

/// Returns the error that is being handled, as XLA says such things. Call it in a catch block.
xla::ffi::Error CurrentError();

}  // namespace weir::python
