#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "weir/engine.h"
#include "weir/error.h"

namespace weir::python {

/// A group and the engine that it needs, in the order of their ends.
class Registered {
 public:
  Registered(std::shared_ptr<Engine> engine, GradientGroupSpec spec)
      : engine_(std::move(engine)), group_(engine_->Register(std::move(spec))) {}

  GradientGroup& group() const { return *group_; }

  /// Makes `step`, of the program's own count, the next one: the first one begins anew, with
  /// compressors that remember nothing. That is collective, as all ranks count alike. Throws
  /// InvalidArgument for any other step than the group's next one.
  void GoTo(std::int64_t step);

 private:
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<GradientGroup> group_;
};

/// A group as Python holds it, until it is closed.
class Group {
 public:
  explicit Group(std::shared_ptr<Registered> registered) : registered_(std::move(registered)) {}
  /// Waits for work under way, which may need the interpreter (gathered.h).
  ~Group();

  /// Throws ShutDown once closed.
  const std::shared_ptr<Registered>& registered() const {
    if (!registered_) {
      throw ShutDown("this process has left the job that the gradients belonged to");
    }
    return registered_;
  }
  GradientGroup& group() const { return registered()->group(); }

  /// Releases the engine; the group goes first.
  void Close() { registered_.reset(); }

 private:
  std::shared_ptr<Registered> registered_;
};

}  // namespace weir::python
