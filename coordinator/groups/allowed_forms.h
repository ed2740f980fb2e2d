#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "coordinator/plan/group_plan.h"
#include "coordinator/plan/step_plan.h"
#include "weir/settings.h"

namespace weir {

/// The forms that a group's buckets may have, by their options and by what their compressors can
/// do: the same on all ranks, or else the registration fails.
class AllowedForms {
 public:
  /// Keeps `plan`, which must outlive it. `ranks`: of the group's set.
  AllowedForms(const GroupPlan& plan, const Settings& settings, int ranks);

  /// True if some bucket's options leave a choice.
  bool any() const { return any_; }
  bool Has(std::size_t bucket, BucketForm form) const;
  /// Returns a bucket's forms, those first that change most of what is trained.
  std::vector<BucketForm> Of(std::size_t bucket) const;
  /// Returns the plan that FormsText has written. Throws InvalidArgument for one with a form that
  /// a bucket may not have.
  StepPlan Parse(const std::string& forms) const;
  /// Returns the forms of each bucket for ranks to compare; empty if there is no choice.
  std::string Text() const;

 private:
  const GroupPlan& plan_;
  const bool any_;
  const bool dedicated_servers_;
  const int ranks_;
};

}  // namespace weir
