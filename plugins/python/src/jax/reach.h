#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "plugins/python/src/jax/completions.h"
#include "plugins/python/src/jax/steps.h"
#include "weir/engine.h"

namespace weir::python {

/// What the functions that XLA calls find: XLA gives them numbers and texts of the compiled
/// program, which may be kept from one process to the next, and no objects. So there is one for the
/// process, which never ends. Thread-safe.
class Reach {
 public:
  static Reach& OfProcess();

  /// The engine of the job that this process is in; null: none any more.
  void Enter(std::shared_ptr<Engine> engine);
  /// Throws ShutDown where there is none.
  std::shared_ptr<Engine> engine() const;

  /// Returns the number by which programs name the steps, until Remove.
  std::int64_t Add(std::shared_ptr<Steps> steps);
  void Remove(std::int64_t number);
  /// Throws ShutDown for steps that are gone.
  std::shared_ptr<Steps> StepsOf(std::int64_t number) const;

  Completions& completions() { return completions_; }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<Engine> engine_;
  std::map<std::int64_t, std::shared_ptr<Steps>> steps_;
  std::int64_t next_ = 0;
  Completions completions_;
};

}  // namespace weir::python
