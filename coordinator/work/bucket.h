#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <span>
#include <string>

#include "coordinator/work/slot.h"
#include "metrics/gauges/traffic.h"
#include "metrics/records/record.h"
#include "ops/collectives/collective.h"

namespace weir {

class LiveRuns;
class ProcessSet;
class StepGate;
struct LiveRun;

/// What can happen to a bucket, one after the other. Gate and Exchange belong to the network
/// thread, workers run the others. A run may have several exchanges, with a Relay between two of
/// them: from what came to what goes out next.
enum class BucketStage : std::uint8_t {
  kPack,
  kGate,
  kCompress,
  kExchange,
  kRelay,
  kMerge,
  kUnpack
};

/// A unit that is negotiated, compressed and exchanged as one: the fused gradients of a plan
/// (GradientBucket) or a single operation (Operation). Carries its own list of stages; Pipeline
/// hands it from one to the next.
///
/// One thread at a time works on a bucket; the hand-over between threads synchronises. What the
/// network thread has to know of a run meanwhile is its own (LiveRun).
class Bucket {
 public:
  Bucket() = default;
  Bucket(const Bucket&) = delete;
  Bucket& operator=(const Bucket&) = delete;
  virtual ~Bucket() = default;

  virtual const std::string& name() const = 0;
  virtual int priority() const { return 0; }

  /// The gate that this run waits at, or null.
  virtual StepGate* gate() const { return nullptr; }

  /// False: this run's exchange waits for no agreement of the ranks, and for no bucket before it.
  virtual bool negotiated() const { return true; }

  /// The stages of this run, in order. Fixed from Begin to the end of the run.
  virtual std::span<const BucketStage> stages() const = 0;

  /// Runs a worker stage. Throws what makes the whole run fail.
  virtual void Run(BucketStage stage) = 0;

  /// Network thread: the collective of the exchange at the cursor with its buffers bound, or null
  /// when agreement alone was the operation. A reduction travels in chunks of `chunk_bytes`.
  virtual Collective* BindExchange(std::size_t chunk_bytes) = 0;

  /// How many exchanges of this run lie before the cursor.
  std::size_t exchanges_before() const {
    const auto before = stages().first(cursor);
    return static_cast<std::size_t>(std::ranges::count(before, BucketStage::kExchange));
  }

  /// The run is over: fulfils the handles. Any thread.
  virtual void Done() = 0;
  /// The run failed, in whatever stage: fulfils the handles with `error` and restores the state
  /// "accumulated, nothing sent".
  virtual void Failed(const std::exception_ptr& error) = 0;

  /// The step this run belongs to; -1: none.
  virtual std::int64_t step() const { return -1; }

  /// The way this run's exchange takes: an index into the routes that its name was given with.
  virtual std::uint8_t route_index() const { return 0; }
  /// The use that the bytes of this run's exchanges count for.
  virtual TrafficOp traffic_op() const { return TrafficOp::kOther; }

  /// What the records of this run's stages say; read after each stage, by who holds the bucket.
  struct Traffic {
    std::uint64_t dense_bytes = 0;  ///< What the dense exchange of this bucket would carry.
    std::uint64_t wire_bytes = 0;   ///< What this rank contributes.
    float density = 1.0f;
    float threshold = 0.0f;
  };
  virtual Traffic traffic() const = 0;

  /// A record of this run, without traffic.
  StageRecord RecordOf(Stage stage, std::int64_t start_ns, std::int64_t end_ns) const {
    return {.start_ns = start_ns,
            .end_ns = end_ns,
            .step = step(),
            .bucket = record_index,
            .stage = stage,
            .route = route_index()};
  }
  /// The same with what the stage has read and produced.
  StageRecord RecordOfWork(Stage stage, std::int64_t start_ns, std::int64_t end_ns) const {
    StageRecord record = RecordOf(stage, start_ns, end_ns);
    const Traffic now = traffic();
    const bool encodes = stage == Stage::kPack || stage == Stage::kCompress;
    record.bytes_in = encodes ? now.dense_bytes : now.wire_bytes;
    record.bytes_out = encodes ? now.wire_bytes : now.dense_bytes;
    record.density = now.density;
    record.threshold = now.threshold;
    return record;
  }

  // What it is called; fixed before the first run, but for an operation's slot, which the network
  // thread changes.
  ProcessSet* process_set = nullptr;  ///< Whose ranks share it.
  std::uint32_t slot = kNoSlot;       ///< Negotiated id.
  std::uint32_t record_index = 0;     ///< Its number in BucketNames.

  std::size_t cursor = 0;  ///< Next entry of stages(). Owned by whoever holds the bucket.

 private:
  friend class LiveRuns;
  LiveRun* live_run_ = nullptr;  ///< Owned by the network thread; null: no run is under way.
};

}  // namespace weir
