#include "coordinator/work/live_runs.h"

#include <utility>

#include "common/check.h"

namespace weir {

LiveRun& LiveRuns::Add(Bucket& bucket, std::int64_t ready_ns, Operation* operation) {
  WEIR_CHECK(bucket.live_run_ == nullptr);
  if (spare_.empty()) spare_.push_back(std::make_unique<LiveRun>());
  runs_.push_back(std::move(spare_.back()));
  spare_.pop_back();
  LiveRun& run = *runs_.back();
  run = {
      .bucket = &bucket, .operation = operation, .ready_ns = ready_ns, .index = runs_.size() - 1};
  bucket.live_run_ = &run;
  ++gauges_.depth(Stage::kNegotiate);
  return run;
}

void LiveRuns::Remove(LiveRun& run) {
  if (!run.agreed) --gauges_.depth(Stage::kNegotiate);
  run.bucket->live_run_ = nullptr;
  const std::size_t index = run.index;
  spare_.push_back(std::move(runs_[index]));
  if (index + 1 < runs_.size()) {
    runs_[index] = std::move(runs_.back());
    runs_[index]->index = index;
  }
  runs_.pop_back();
}

void LiveRuns::Finish(LiveRun& run, std::string name) {
  last_finished_ = std::move(name);
  Remove(run);
}

LiveRun& LiveRuns::Of(const Bucket& bucket) const {
  WEIR_CHECK(bucket.live_run_ != nullptr);
  return *bucket.live_run_;
}

std::vector<Bucket*> LiveRuns::Clear() {
  std::vector<Bucket*> buckets;
  for (const auto& run : runs_) {
    run->bucket->live_run_ = nullptr;
    buckets.push_back(run->bucket);
  }
  runs_.clear();
  return buckets;
}

}  // namespace weir
