#pragma once

#include <memory>
#include <mutex>

#include "weir/engine.h"

namespace weir::python {

/// The engine as Python holds it. It ends when the job is left, not when the last reference goes (a
/// traceback may keep one for long). Thread-safe.
class Job {
 public:
  /// Joins the job; blocks. Throws as Engine::Create does.
  /// `token` in place of the setting of that name, if not empty.
  explicit Job(std::string token);

  /// Throws ShutDown after Leave. Code that works with the engine holds it until it is done.
  std::shared_ptr<Engine> engine() const;

  /// Shuts the engine down and releases it. Idempotent.
  void Leave();

  /// Leaves when the process exits: in good order if its exit code is 0, else as one that has
  /// failed, so that the other ranks do not go on without it. Only while no operation is under way:
  /// the interpreter's memory is gone by then.
  void LeaveAtExit();

 private:
  std::shared_ptr<Engine> Release();

  mutable std::mutex mutex_;
  std::shared_ptr<Engine> engine_;
};

}  // namespace weir::python
