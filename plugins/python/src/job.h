#pragma once

#include <memory>
#include <mutex>

#include "weir/engine.h"

namespace weir::python {

/// The engine as Python holds it: it ends when the job is left, not when the last reference goes (a
/// traceback keeps one as long as it likes). Thread-safe.
class Job {
 public:
  /// Joins; blocks. Throws what Engine::Create throws.
  Job();

  /// Throws ShutDown after Leave. Whoever works with the engine holds it until he is done.
  std::shared_ptr<Engine> engine() const;

  /// Shuts down, and lets go of the engine. Idempotent.
  void Leave();

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<Engine> engine_;
};

}  // namespace weir::python
