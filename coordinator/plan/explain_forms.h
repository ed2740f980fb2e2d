#pragma once

#include <string>
#include <vector>

#include "coordinator/plan/form_tuner.h"
#include "metrics/gauges/plans.h"

namespace weir {

/// The names with which plans are described.
struct PlanWords {
  std::string compressor;  ///< Of the form kCompressed, where buckets are counted.
  int ranks = 1;

  struct Bucket {
    std::string name;
    std::string compressor;
  };
  std::vector<Bucket> buckets;

  /// Returns "dense", or "dense (5 buckets), dgc (3)".
  std::string Of(const StepPlan& plan) const;
  /// Returns the buckets in their forms.
  std::vector<PlanExplanation::Bucket> BucketsOf(const StepPlan& plan) const;
};

/// Explains what a tuner wants, and, once it has settled, why: the sentence, each plan that was
/// considered, and the work of each bucket in each form. Group, step and time are left to the
/// caller.
PlanExplanation ExplainForms(const FormTuner& tuner, const PlanWords& words);

}  // namespace weir
