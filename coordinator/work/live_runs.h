#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "coordinator/work/live_run.h"
#include "metrics/gauges/engine_gauges.h"

namespace weir {

/// The runs under way on this rank, of all process sets: their buckets are complete here and not
/// done. Allocates only while it grows. Network thread only.
class LiveRuns {
 public:
  explicit LiveRuns(EngineGauges& gauges) : gauges_(gauges) {}

  /// Begins the record of a run. It keeps its address until Remove or Clear.
  /// `operation`: the bucket, where it is a single operation.
  LiveRun& Add(Bucket& bucket, std::int64_t ready_ns, Operation* operation = nullptr);
  void Remove(LiveRun& run);
  /// The record of a bucket's run; null: none is under way.
  LiveRun* Find(const Bucket& bucket) const { return bucket.live_run_; }
  /// The record of a bucket's run, which must be under way.
  LiveRun& Of(const Bucket& bucket) const;

  const std::vector<std::unique_ptr<LiveRun>>& all() const { return runs_; }
  bool none_agreed() const {
    return std::ranges::none_of(runs_, [](const auto& run) { return run->agreed; });
  }
  /// Forgets all runs. Returns their buckets.
  std::vector<Bucket*> Clear();

 private:
  EngineGauges& gauges_;
  std::vector<std::unique_ptr<LiveRun>> runs_;
  std::vector<std::unique_ptr<LiveRun>> spare_;  ///< Records of former runs, for the next ones.
};

}  // namespace weir
