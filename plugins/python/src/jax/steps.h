#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "plugins/python/src/gradient_group.h"
#include "weir/gradient_group.h"
#include "weir/tensor.h"

namespace weir::python {

/// The steps of a group as a program of XLA makes them: Begin, Submit of every gradient, Collect.
/// Updates take the gradients' memory. Throws as the group does, and ShutDown once it is closed.
/// Thread-safe.
class Steps {
 public:
  explicit Steps(const std::shared_ptr<Registered>& registered) : registered_(registered) {}

  /// `step`: its number by the optimizer's state. Throws InvalidArgument where the compressors have
  /// come to another one.
  void Begin(std::int64_t step, float learning_rate);
  void Submit(std::size_t index, const TensorView& gradient);
  /// `updates`: where the program expects them. Returns the wait for them, which gives the step's
  /// report.
  std::function<StepReport()> Collect(std::span<void* const> updates);

  /// Of the last step that ended.
  StepReport report() const;

 private:
  std::shared_ptr<Registered> Group() const;

  const std::weak_ptr<Registered> registered_;
  mutable std::mutex mutex_;
  std::vector<void*> submitted_;  // Addresses, by index.
  StepReport report_;
};

}  // namespace weir::python
