#include "plugins/python/src/jax/steps.h"

#include <fmt/core.h>

#include <algorithm>

#include "weir/error.h"

namespace weir::python {

std::shared_ptr<Registered> Steps::Group() const {
  std::shared_ptr<Registered> registered = registered_.lock();
  if (!registered) throw ShutDown("this process has left the job that the gradients belonged to");
  return registered;
}

void Steps::Begin(std::int64_t step, float learning_rate) {
  const auto registered = Group();
  GradientGroup& group = registered->group();
  if (step != group.next_step()) {
    throw InvalidArgument(fmt::format(
        "the optimizer's state is of step {}, and what the compressors of '{}' remember is of step "
        "{}: keep one state and give each update the last one's, and load what state_dict() gave "
        "together with it (load_state_dict)",
        step, group.spec().name, group.next_step()));
  }
  group.BeginStep({.learning_rates = std::span(&learning_rate, 1)});
  const std::lock_guard lock(mutex_);
  submitted_.assign(group.spec().tensors.size(), nullptr);
}

void Steps::Submit(std::size_t index, const TensorView& gradient) {
  const auto registered = Group();
  registered->group().Submit(index, gradient, gradient);
  const std::lock_guard lock(mutex_);
  submitted_.at(index) = gradient.data;
}

std::function<StepReport()> Steps::Collect(std::span<void* const> updates) {
  const auto registered = Group();
  registered->group().EndStep();
  {
    const std::lock_guard lock(mutex_);
    // XLA passes on the memory of a value that nothing else uses.
    if (!std::ranges::equal(updates, submitted_)) {
      throw Mismatch("XLA has copied a gradient that was being exchanged");
    }
  }
  return [this, registered] {
    const StepReport report = registered->group().WaitStep();
    const std::lock_guard lock(mutex_);
    report_ = report;
    return report;
  };
}

StepReport Steps::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

}  // namespace weir::python
