#pragma once

#include <optional>
#include <vector>

#include "coordinator/plan/step_observation.h"
#include "coordinator/plan/step_time.h"

namespace weir {

/// What buckets take in each form, learned from steps, and what a step of a plan would take by
/// that. Seconds and bytes. Not thread-safe.
class FormTimes {
 public:
  explicit FormTimes(std::size_t buckets) : buckets_(buckets) {}

  void Learn(const StepObservation& step);
  /// Sets the network as it was measured, for what one rank sends.
  void SetNetwork(const HostLink& network) { network_ = network; }
  const std::optional<HostLink>& network() const { return network_; }

  /// Returns the bytes that a rank sends by a plan, at the density of the last step.
  double BytesOf(const StepPlan& plan) const;
  /// Returns how long the network is busy with the bytes of a plan; 0 if it was not measured.
  double NetworkSecondsOf(const StepPlan& plan) const;
  /// Returns what decoding the buckets of a plan takes, one after the other; 0 for those that were
  /// not seen in their form.
  double DecodeSecondsOf(const StepPlan& plan) const;
  /// Returns the time of a step by the plan (TimelineOf); empty if some bucket was not seen in its
  /// form, or the network was not measured.
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
    ByForm<std::optional<Work>> work{};
    ByForm<double> bytes{};
  };

  std::vector<Bucket> buckets_;
  std::vector<std::size_t> order_;  ///< Of their exchanges in the last step.
  std::optional<HostLink> network_;
};

}  // namespace weir
