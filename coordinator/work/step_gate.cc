#include "coordinator/work/step_gate.h"

#include <algorithm>
#include <numeric>

namespace weir {

StepGate::StepGate(std::size_t buckets, bool skip_non_finite, std::function<void(bool)> decide)
    : skip_non_finite_(skip_non_finite), decide_(std::move(decide)), squared_norms_(buckets) {}

void StepGate::Reset() {
  std::lock_guard lock(mutex_);
  std::fill(squared_norms_.begin(), squared_norms_.end(), 0.0);
  finite_ = true;
  waiting_.clear();
}

void StepGate::Measure(std::size_t bucket, double squared_norm, bool finite) {
  std::lock_guard lock(mutex_);
  squared_norms_[bucket] = squared_norm;
  finite_ = finite_ && finite;
}

bool StepGate::Arrive(Bucket* bucket) {
  waiting_.push_back(bucket);
  return waiting_.size() == squared_norms_.size();
}

const std::vector<Bucket*>& StepGate::TakeWaiting() {
  taken_.swap(waiting_);
  waiting_.clear();
  return taken_;
}

bool StepGate::willing() const {
  std::lock_guard lock(mutex_);
  return finite_ || !skip_non_finite_;
}

double StepGate::squared_norm() const {
  std::lock_guard lock(mutex_);
  return std::accumulate(squared_norms_.begin(), squared_norms_.end(), 0.0);
}

}  // namespace weir
