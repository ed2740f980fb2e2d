#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "coordinator/rank/coordinator.h"
#include "weir/gradient_group.h"

namespace weir {

/// Finds out of which tensors no rank has a gradient in a step of a group, so that the step leaves
/// them alone. Costs nothing while every rank has all. A rank that lacks some asks; the others hear
/// of that before the step can be agreed on without them, and answer once they know what they lack.
///
/// Note and OnCalled may meet; the rest belongs to the thread of the group's steps.
class UnusedTensors {
 public:
  /// Keeps its arguments, which must outlive it.
  UnusedTensors(Coordinator& coordinator, ProcessSet& set, const GradientGroupSpec& spec)
      : coordinator_(coordinator), set_(set), spec_(spec) {}

  void Begin(std::int64_t step);
  /// Notes the tensors that this rank lacks, all of them, before it submits the last others.
  void Note(std::span<const std::size_t> lacking);
  bool noted() const { return noted_; }
  /// Tells that some rank has asked. Network thread.
  void OnCalled(std::int64_t step);
  /// Returns the tensors that no rank has, ascending. Waits for the others if this rank lacks some.
  const std::vector<std::size_t>& Await();
  /// Waits for the answer, if this rank has asked.
  void Finish();
  /// Forgets the step, which will begin again under the same number: what ranks ask from now on is
  /// about that.
  void Forget();

 private:
  /// `mutex_` is held.
  void Ask();
  void TakeAnswer(std::span<const std::int64_t> rows);

  Coordinator& coordinator_;
  ProcessSet& set_;
  const GradientGroupSpec& spec_;
  std::mutex mutex_;
  std::int64_t step_ = -1;
  std::int64_t called_ = -1;  ///< Step about which a rank has asked last.
  bool noted_ = false;
  bool asked_ = false;
  std::vector<std::int64_t> lacking_;  ///< By tensor, kBits of them in each word.
  std::vector<std::size_t> of_nobody_;
  Handle answer_ = kNoHandle;
};

}  // namespace weir
