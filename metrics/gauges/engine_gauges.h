#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "common/last_heard.h"
#include "common/link_bytes.h"
#include "metrics/gauges/plans.h"
#include "metrics/gauges/stalls.h"
#include "metrics/gauges/traffic.h"
#include "metrics/records/record.h"

namespace weir {

/// Reason for which a job was ended early.
enum class AbortReason : std::uint8_t { kPeerLost, kTimedOut, kCorrupt, kOther };
inline constexpr int kAbortReasonCount = 4;
/// "peer_lost", "timed_out", ...
const char* Name(AbortReason reason);

/// Counts and levels, which are not intervals of time and so not in the records. The engine updates
/// them in place and the exporter reads them when it is asked. Every member is safe to use from any
/// thread, with relaxed atomics; nothing here orders anything else.
class EngineGauges {
 public:
  // Totals since the start, copied from the transport.
  std::atomic<std::uint64_t> sent_bytes{0};
  std::atomic<std::uint64_t> received_bytes{0};
  std::atomic<std::uint64_t> sent_messages{0};
  std::atomic<std::uint64_t> received_messages{0};

  std::array<LinkBytes, kTrafficOpCount> traffic{};  ///< By TrafficOp.
  LinkBytes gradient_traffic;  ///< The part of `traffic` moved by exchanges of optimizer steps.

  std::atomic<std::uint64_t> fast_rounds{0};
  std::atomic<std::uint64_t> slow_rounds{0};
  std::atomic<std::uint64_t> checksum_failures{0};
  std::array<std::atomic<std::uint64_t>, kAbortReasonCount> aborts{};  ///< By AbortReason.

  LastHeard last_heard;  ///< By process of the job.
  PlanNotes plans;       ///< Of the groups that this rank plans for.

  /// Payload of the exchanges that are under way.
  std::atomic<std::int64_t> credit_bytes{0};
  std::atomic<std::int64_t> stalled_tensors{0};
  /// Buckets that wait for a stage, by Stage; for kQueue, tensors whose bucket is incomplete.
  std::array<std::atomic<std::int64_t>, kBucketStageCount> queue_depth{};

  std::atomic<std::int64_t>& depth(Stage stage) {
    return queue_depth[static_cast<std::size_t>(stage)];
  }
  LinkBytes& traffic_of(TrafficOp op) { return traffic[static_cast<std::size_t>(op)]; }
  /// The part of sent_bytes in rounds, and at the start in comparing clocks.
  std::uint64_t negotiation_bytes() const {
    return traffic[static_cast<std::size_t>(TrafficOp::kNegotiation)].total_sent();
  }
  void CountAbort(AbortReason reason) { ++aborts[static_cast<std::size_t>(reason)]; }

  /// Sets the density that the schedule asks of a group (BucketInfo::group) now. Takes a lock: call
  /// it once a step, not once a bucket.
  void SetTargetDensity(const std::string& group, double density);
  std::map<std::string, double> target_densities() const;

  /// Notes a tensor that has waited too long for other ranks. Takes a lock.
  void NoteStalled(const std::string& name);
  /// Returns the first of those names, and in `count` their number, at most 1,024.
  std::vector<std::string> stalled_names(std::uint64_t& count) const;

  /// Notes a warning that training diverges. Takes a lock.
  void NoteDivergence(const std::string& warning);
  /// Returns the first of those, at most 8.
  std::vector<std::string> divergences() const;

  /// Sets the tensors that are stalled in the job now; rank 0 only. Takes a lock.
  void SetStalls(Stalls stalls);
  Stalls stalls() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, double> target_densities_;
  std::set<std::string> stalled_;
  std::vector<std::string> divergences_;
  Stalls stalls_;
};

}  // namespace weir
