#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "coordinator/work/slot.h"

namespace weir {

class Bucket;

/// Holds a whole step back until every bucket is measured and all ranks agree to take it: clipping
/// by the global norm and skipping non-finite steps need the whole gradient before the first state
/// changes. Costs the overlap of compression with backprop, so it exists only when asked for.
///
/// Measure is thread-safe; the rest belongs to the network thread, except Reset between steps.
class StepGate {
 public:
  /// Calls `decide(pass)` once a step, with what all ranks agreed on, before buckets go on.
  StepGate(std::size_t buckets, bool skip_non_finite, std::function<void(bool pass)> decide);

  void Reset();

  /// Notes what Pack found in one bucket. Sums are kept by bucket and added in bucket order, so
  /// that the norm does not depend on which bucket came first.
  void Measure(std::size_t bucket, double squared_norm, bool finite);

  /// Notes that a bucket waits at the gate. True for the last one: this rank's verdict is complete.
  bool Arrive(Bucket* bucket);
  /// Takes away the buckets that wait. The list is valid until the next call.
  const std::vector<Bucket*>& TakeWaiting();

  /// True if this rank is willing to take the step: every gradient is finite, or need not be.
  bool willing() const;
  double squared_norm() const;
  void Decide(bool pass) const { decide_(pass); }

  /// First of two consecutive slots: the gate is due on every rank; every rank is willing.
  std::uint32_t slot = kNoSlot;

 private:
  const bool skip_non_finite_;
  const std::function<void(bool)> decide_;
  mutable std::mutex mutex_;
  std::vector<double> squared_norms_;
  bool finite_ = true;
  std::vector<Bucket*> waiting_;
  std::vector<Bucket*> taken_;
};

}  // namespace weir
