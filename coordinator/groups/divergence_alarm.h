#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "coordinator/groups/gradient_bucket.h"

namespace weir {

/// Watches the steps of a group of gradients for signs that the training diverges, and says each
/// once. For one thread.
class DivergenceAlarm {
 public:
  /// `group`: a name for the texts.
  explicit DivergenceAlarm(std::string group) : group_(std::move(group)) {}

  struct Step {
    bool skipped = false;     ///< Some gradient was inf or NaN.
    double loss_scale = 1.0;  ///< Factor on the loss and the gradients.
    double density = 1.0;
    /// Magnitude from which an entry is sent, over the gradients; 0: none has one.
    double threshold = 0.0;
  };
  /// Returns what people should know now; empty: nothing new.
  std::string After(const Step& step);

 private:
  std::string AfterSkipped(bool skipped);
  std::string AfterScale(double scale);
  /// What is kept back grows with the threshold. It may while entries still wait for their first
  /// turn, 1 / density steps; after that it levels off in a training that converges.
  std::string AfterThreshold(double density, double threshold);

  const std::string group_;

  int skipped_ = 0;  ///< Steps in a row.
  bool told_of_skips_ = false;

  double largest_scale_ = 0.0;
  bool told_of_scale_ = false;

  double density_ = 0.0;         ///< Of the last step.
  std::int64_t at_density_ = 0;  ///< Steps in a row with it.
  double window_sum_ = 0.0;      ///< Thresholds of the window under way.
  int window_steps_ = 0;
  std::deque<double> windows_;  ///< Their means in the last windows, oldest first.
  bool told_of_growth_ = false;
};

/// Returns the geometric mean of the thresholds of all gradients that have one, or 0.
double MeanThreshold(std::span<const std::unique_ptr<GradientBucket>> buckets);

}  // namespace weir
