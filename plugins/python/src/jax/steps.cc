#include "plugins/python/src/jax/steps.h"

#include <cstring>
#include <utility>

#include "weir/error.h"

namespace weir::python {

void Steps::Use(std::shared_ptr<Registered> registered) {
  Await();
  const std::lock_guard lock(mutex_);
  registered_ = std::move(registered);
  memory_.clear();
  report_.reset();
}

std::shared_ptr<Registered> Steps::Group() const {
  const std::lock_guard lock(mutex_);
  if (!registered_) {
    throw ShutDown("this process has left the job that the gradients belonged to, or closed them");
  }
  return registered_;
}

void Steps::Begin(std::int64_t step, float learning_rate) {
  const auto registered = Group();
  registered->GoTo(step);
  registered->group().BeginStep({.learning_rates = std::span(&learning_rate, 1)});
  const std::lock_guard lock(mutex_);
  memory_.resize(registered->group().spec().tensors.size());
}

void Steps::Submit(std::size_t index, const ConstTensorView& gradient) {
  const auto registered = Group();
  std::shared_ptr<Memory> memory;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Memory>& own = memory_.at(index);
    if (!own) own = std::make_shared<Memory>(gradient.bytes());
    memory = own;
  }
  if (memory->size() != gradient.bytes()) throw InvalidArgument("a gradient has another size");
  if (!memory->empty()) std::memcpy(memory->data(), gradient.data, memory->size());
  const TensorView own{memory->data(), gradient.dtype, gradient.shape};
  registered->group().Submit(index, own, own, memory);
}

std::function<StepReport()> Steps::Collect(std::vector<void*> updates) {
  auto registered = Group();
  registered->group().EndStep();
  const std::lock_guard lock(mutex_);
  collecting_ = true;
  return [self = shared_from_this(), registered = std::move(registered),
          updates = std::move(updates)] { return self->Finish(registered, updates); };
}

StepReport Steps::Finish(const std::shared_ptr<Registered>& registered,
                         const std::vector<void*>& updates) {
  std::optional<StepReport> report;
  std::exception_ptr error;
  try {
    report = registered->group().WaitStep();
  } catch (...) {
    error = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; report && i < updates.size(); ++i) {
      if (memory_[i]->empty()) continue;
      std::memcpy(updates[i], memory_[i]->data(), memory_[i]->size());
    }
    if (report) report_ = report;
    collecting_ = false;
  }
  ended_.notify_all();
  if (error) std::rethrow_exception(error);
  return *report;
}

void Steps::Await() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return !collecting_; });
}

std::optional<StepReport> Steps::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

}  // namespace weir::python
