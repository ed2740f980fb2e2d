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

/// Stages of a bucket's run. Gate and Exchange belong to the network thread; workers run the
/// others. A run may have several exchanges, with a Relay between two of them, which turns what
/// came in into what goes out next.
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
/// hands it from one to the next. An operation has one stage, the exchange.
///
/// One thread at a time works on a bucket; the hand-over between threads synchronises. The network
/// thread keeps what it has to know of a run meanwhile in a record of its own (LiveRun).
class Bucket {
 public:
  Bucket() = default;
  Bucket(const Bucket&) = delete;
  Bucket& operator=(const Bucket&) = delete;
  virtual ~Bucket() = default;

  virtual const std::string& name() const = 0;
  virtual int priority() const { return 0; }

  /// True if this run overtakes, on the network, others of the kind that have a lower priority. The
  /// same on all ranks.
  virtual bool overtakes() const { return false; }

  /// Returns the gate that this run waits at, or null.
  virtual StepGate* gate() const { return nullptr; }

  /// False if this run's exchange waits neither for agreement of the ranks nor for other buckets.
  virtual bool negotiated() const { return true; }

  /// Returns the stages of this run, in order. Fixed from Begin to the end of the run.
  virtual std::span<const BucketStage> stages() const = 0;

  /// Runs a worker stage. An exception from it makes the whole run fail.
  virtual void Run(BucketStage stage) = 0;

  /// Returns the collective of the exchange at the cursor, buffers bound; null if agreement was the
  /// operation. A reduction travels in chunks of `chunk_bytes`. Network thread only.
  virtual Collective* BindExchange(std::size_t chunk_bytes) = 0;

  /// Returns the number of this run's exchanges before the cursor.
  std::size_t exchanges_before() const {
    const auto before = stages().first(cursor);
    return static_cast<std::size_t>(std::ranges::count(before, BucketStage::kExchange));
  }

  /// Fulfils the handles when the run is over. Any thread.
  virtual void Done() = 0;
  /// Fulfils the handles with `error` when the run failed, in whatever stage, and restores the
  /// state "accumulated, nothing sent".
  virtual void Failed(const std::exception_ptr& error) = 0;

  /// Returns the step that this run belongs to; -1: none.
  virtual std::int64_t step() const { return -1; }

  /// Notes when an exchange of this run was under way. Network thread.
  virtual void NoteExchange(std::int64_t /*begin_ns*/, std::int64_t /*end_ns*/) {}

  /// Returns the route of this run's exchange: an index into the routes given with its name.
  virtual std::uint8_t route_index() const { return 0; }
  /// Returns the use that the bytes of this run's exchanges count for.
  virtual TrafficOp traffic_op() const = 0;

  /// Values for the records of this run's stages. The bucket's holder reads them after each stage.
  struct Traffic {
    std::uint64_t dense_bytes = 0;  ///< Bytes that a dense exchange of this bucket would carry.
    std::uint64_t wire_bytes = 0;   ///< Bytes that this rank contributes.
    float density = 1.0f;
    float threshold = 0.0f;
  };
  virtual Traffic traffic() const = 0;

  /// Returns a record of this run, without traffic.
  StageRecord RecordOf(Stage stage, std::int64_t start_ns, std::int64_t end_ns) const {
    return {.start_ns = start_ns,
            .end_ns = end_ns,
            .step = step(),
            .bucket = record_index,
            .stage = stage,
            .route = route_index()};
  }
  /// Returns a record with traffic: what the stage has read and produced.
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

  // Identity of the bucket. Fixed before the first run, except an operation's slot, which the
  // network thread changes.
  ProcessSet* process_set = nullptr;  ///< Set whose ranks share it.
  std::uint32_t slot = kNoSlot;       ///< Negotiated id.
  std::uint32_t record_index = 0;     ///< Number in BucketNames.

  std::size_t cursor = 0;  ///< Next entry of stages(). Owned by whoever holds the bucket.

 private:
  friend class LiveRuns;
  LiveRun* live_run_ = nullptr;  ///< Owned by the network thread; null: no run is under way.
};

}  // namespace weir
