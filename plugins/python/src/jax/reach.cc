#include "plugins/python/src/jax/reach.h"

#include <utility>

#include "weir/error.h"

namespace weir::python {

Reach& Reach::OfProcess() {
  // A thread of XLA's may need it as long as there is one.
  static Reach& reach = *new Reach;
  return reach;
}

void Reach::Enter(std::shared_ptr<Engine> engine) {
  const std::lock_guard lock(mutex_);
  engine_ = std::move(engine);
}

std::shared_ptr<Engine> Reach::engine() const {
  const std::lock_guard lock(mutex_);
  if (!engine_) throw ShutDown("this process has left the job");
  return engine_;
}

std::int64_t Reach::Add(std::shared_ptr<Steps> steps) {
  const std::lock_guard lock(mutex_);
  steps_[next_] = std::move(steps);
  return next_++;
}

void Reach::Remove(std::int64_t number) {
  const std::lock_guard lock(mutex_);
  steps_.erase(number);
}

std::shared_ptr<Steps> Reach::StepsOf(std::int64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto found = steps_.find(number);
  if (found == steps_.end()) {
    throw ShutDown("the optimizer that this program was compiled for is gone");
  }
  return found->second;
}

}  // namespace weir::python
