#include "coordinator/work/live_runs.h"

#include "common/check.h"

namespace weir {

void LiveRuns::Add(Bucket* bucket) {
  bucket->agreed = false;
  bucket->recorded = {};
  ++gauges_.depth(Stage::kNegotiate);
  bucket->live_index = runs_.size();
  runs_.push_back(bucket);
}

void LiveRuns::Remove(Bucket* bucket) {
  WEIR_CHECK(Contains(bucket));
  const std::size_t index = bucket->live_index;
  if (!bucket->agreed) --gauges_.depth(Stage::kNegotiate);
  runs_[index] = runs_.back();
  runs_[index]->live_index = index;
  runs_.pop_back();
}

}  // namespace weir
