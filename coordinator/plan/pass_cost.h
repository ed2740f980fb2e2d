#pragma once

#include <optional>
#include <span>
#include <vector>

#include "coordinator/plan/step_observation.h"

namespace weir {

/// The backward pass of a step, and what is worked on its buckets beside it. Seconds.
struct PassTimes {
  double pass = 0.0;    ///< From the first gradient to the last one.
  double beside = 0.0;  ///< Encoding and decoding before the last one.
};

PassTimes PassTimesOf(const StepObservation& step);

/// What compression costs the backward pass, from steps that are alike but for what is compressed.
struct PassCost {
  double seconds = 0.0;  ///< So much longer is the pass beside the most work than beside the least.
  /// How much the two slow each other down: 0, they do not feel each other; 1, they take turns.
  double kappa = 0.0;
};

/// Compares the plans with the least and the most work beside the pass, of which `plans` has the
/// steps, by medians. Empty where their work differs by less than a twentieth of the pass, which
/// could not be told from noise.
std::optional<PassCost> PassCostOf(std::span<const std::vector<PassTimes>> plans);

}  // namespace weir
