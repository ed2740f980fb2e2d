#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "plugins/python/src/gradient_group.h"
#include "weir/gradient_group.h"
#include "weir/tensor.h"

namespace weir::python {

/// The steps of a group as a program of XLA makes them: Begin, Submit of every gradient, Collect.
/// The engine works in memory of its own: a program that fails in between frees its arrays, and
/// asks nobody. Throws as the group does, and ShutDown without one. Thread-safe.
class Steps : public std::enable_shared_from_this<Steps> {
 public:
  /// Takes a group, between steps; null: none any more. Waits for the step under way.
  void Use(std::shared_ptr<Registered> registered);

  /// `step`: its number by the optimizer's state (Registered::GoTo).
  void Begin(std::int64_t step, float learning_rate);
  void Submit(std::size_t index, const ConstTensorView& gradient);
  /// Returns the wait for the updates, which copies them to these addresses, and gives the report.
  std::function<StepReport()> Collect(std::vector<void*> updates);

  /// Waits for the step under way. One whose program has failed does not end: it is not waited for.
  void Await();
  /// Of the last step that ended; empty before any.
  std::optional<StepReport> report() const;

 private:
  using Memory = std::vector<std::byte>;

  std::shared_ptr<Registered> Group() const;
  StepReport Finish(const std::shared_ptr<Registered>& registered,
                    const std::vector<void*>& updates);

  mutable std::mutex mutex_;
  std::condition_variable ended_;
  std::shared_ptr<Registered> registered_;
  std::vector<std::shared_ptr<Memory>> memory_;  ///< By index.
  bool collecting_ = false;
  std::optional<StepReport> report_;
};

}  // namespace weir::python
