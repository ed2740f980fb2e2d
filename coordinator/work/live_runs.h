#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "coordinator/work/bucket.h"
#include "metrics/engine_gauges.h"

namespace weir {

/// The buckets that are complete on this rank and whose run is not over, of all process sets.
/// Network thread only.
class LiveRuns {
 public:
  explicit LiveRuns(EngineGauges& gauges) : gauges_(gauges) {}

  void Add(Bucket* bucket);
  void Remove(Bucket* bucket);
  bool Contains(const Bucket* bucket) const {
    return bucket->live_index < runs_.size() && runs_[bucket->live_index] == bucket;
  }
  const std::vector<Bucket*>& all() const { return runs_; }
  bool none_agreed() const { return std::ranges::none_of(runs_, &Bucket::agreed); }
  void Clear() { runs_.clear(); }

 private:
  EngineGauges& gauges_;
  std::vector<Bucket*> runs_;
};

}  // namespace weir
