#pragma once

#include <array>
#include <optional>
#include <vector>

#include "coordinator/plan/step_observation.h"

namespace weir {

/// What buckets take in each form, learned from steps, and what a step of a plan would take by
/// that. Seconds and bytes. Not thread-safe.
class FormTimes {
 public:
  explicit FormTimes(std::size_t buckets) : buckets_(buckets) {}

  void Learn(const StepObservation& step);

  /// Returns the bytes that a rank sends by a plan, at the density of the last step.
  double BytesOf(const StepPlan& plan) const;
  /// Returns the rate of the network in the last step: bytes sent by a rank over the time in which
  /// anything was under way, less what messages take without their bytes. Empty before any step,
  /// and where bytes take too little of it to tell.
  std::optional<double> bytes_per_second() const { return rate_; }
  /// Returns the time of a step by the plan (TimelineOf); empty if some bucket was not seen in its
  /// form, or the network is too fast to tell.
  std::optional<double> Predict(const StepPlan& plan) const;
  /// Returns what encoding and decoding a bucket in a form take; empty if it was not seen so.
  std::optional<double> WorkOf(std::size_t bucket, BucketForm form) const;

 private:
  /// Moving averages.
  struct Work {
    double encode = 0.0;
    double decode = 0.0;
  };
  struct Bucket {
    double ready = 0.0;
    double exchange_begin = 0.0;
    std::array<std::optional<Work>, kBucketForms> work{};
    std::array<double, kBucketForms> bytes{};
  };
  void LearnRate(const StepObservation& step);

  std::vector<Bucket> buckets_;
  std::optional<double> rate_;
  double message_seconds_ = 0.0;
};

}  // namespace weir
