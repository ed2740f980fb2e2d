#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "coordinator/groups/allowed_forms.h"
#include "coordinator/plan/step_plan.h"

namespace weir {

/// The plans that the ranks of a group have heard of (GroupPlanning), and the one that holds. A
/// plan is told during a step, for one to come, and heard before any bucket of that step is agreed
/// on. So all ranks change over in the same step.
///
/// OnTold may meet the others, which belong to the thread of the group's steps.
class AgreedPlans {
 public:
  /// Keeps `allowed`, which must outlive it.
  AgreedPlans(std::string group, const AllowedForms& allowed, std::size_t buckets);

  /// Notes a plan. Network thread. Throws Corrupt for one that nobody can have made.
  void OnTold(const ToldPlan& told);
  /// Takes over what was told for the step. An `empty` one may still turn out not to be taken.
  void Begin(std::int64_t step, bool empty);
  /// Notes that the empty step was taken. Returns true if the others measure the network after it.
  bool EndEmpty(std::int64_t step);
  /// Takes over in the next step, whatever its number, what was told: a state was loaded.
  void OnLoaded();

  const StepPlan& now() const { return now_; }
  /// Returns the number of plans told until the one that holds: the same on all ranks.
  std::uint32_t epoch() const { return epoch_; }
  /// Returns true once if all ranks measure the network when the step ends.
  bool TakeMeasures() { return std::exchange(measures_, false); }

 private:
  struct Next {
    std::int64_t from_step = 0;
    StepPlan plan;
    std::uint32_t epoch = 0;
    bool measures = false;
  };
  /// Drops what was told up to the step; true if ranks were to measure then. `mutex_` is held.
  bool DropPast(std::int64_t step);

  const std::string group_;
  const AllowedForms& allowed_;
  StepPlan now_;
  std::uint32_t epoch_ = 0;
  bool measures_ = false;
  std::mutex mutex_;
  std::uint32_t told_ = 0;
  std::deque<Next> next_;  ///< By step. A rank that is late may hear of two before it begins one.
};

}  // namespace weir
