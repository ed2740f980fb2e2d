#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/work/bucket.h"
#include "metrics/gauges/engine_gauges.h"
#include "ops/transport/chunk_stream.h"

namespace weir {

class Operation;

/// A run of a bucket as the network thread sees it, from its announcement on this rank to its end.
/// The bucket does the work and belongs to whoever holds it. Network thread only.
struct LiveRun {
  Bucket* bucket = nullptr;
  Operation* operation = nullptr;  ///< The bucket, if it is one; null: a group's gradients.
  std::int64_t ready_ns = 0;       ///< Time when this rank had all of it.
  std::int64_t agreed_ns = 0;      ///< Time when all ranks agreed on it.
  std::int64_t exchange_ns = 0;    ///< Start of the exchange under way; 0: none.
  Bucket::Traffic recorded{};      ///< Sums in the records of its exchanges so far.
  bool agreed = false;
  bool staged = false;   ///< Waits for its exchange.
  bool patient = false;  ///< The other ranks may take as long as they like (Joining).
  std::size_t chunk_bytes = ChunkStream::kDefaultChunkBytes;  ///< Chunk size on all ranks.
  std::size_t index = 0;                                      ///< Place in LiveRuns.
};

/// The runs under way on this rank, of all process sets: their buckets are complete here, but not
/// done. Allocates only while it grows. Network thread only.
class LiveRuns {
 public:
  explicit LiveRuns(EngineGauges& gauges) : gauges_(gauges) {}

  /// Begins the record of a run, which keeps its address until Remove or Clear. `operation` is the
  /// bucket, if that is a single operation.
  LiveRun& Add(Bucket& bucket, std::int64_t ready_ns, Operation* operation = nullptr);
  void Remove(LiveRun& run);
  /// Removes a run that is over, and remembers its name in reports.
  void Finish(LiveRun& run, std::string name);
  /// Returns the name of the last run that was over; "" before it.
  const std::string& last_finished() const { return last_finished_; }
  /// Returns the record of a bucket's run; null: none is under way.
  LiveRun* Find(const Bucket& bucket) const { return bucket.live_run_; }
  /// Returns the record of a bucket's run, which must be under way.
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
  std::string last_finished_;
  std::vector<std::unique_ptr<LiveRun>> spare_;  ///< Records of former runs, for the next ones.
};

}  // namespace weir
