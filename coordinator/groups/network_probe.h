#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "coordinator/plan/step_time.h"
#include "coordinator/rank/coordinator.h"

namespace weir {

/// Measures what the network between the ranks of a set carries, by all-reduces of growing size,
/// until one takes long enough, each three times: 0.15 s in all, or three times that of 64 KiB
/// where that is longer. On a thread of its own, because ranks may begin in an order of their own
/// what they have to do in turn.
///
/// All ranks of the set start it at about the same time, apart from those that have joined.
/// Thread-safe, but for Start.
class NetworkProbe {
 public:
  /// Keeps its arguments, which must outlive it. `owner` names the caller, the same on all ranks.
  NetworkProbe(Coordinator& coordinator, ProcessSet& set, std::string owner);
  /// Waits for the measurement, which ends with the engine at the latest.
  ~NetworkProbe();

  /// Starts a measurement, after the one before.
  void Start();
  /// Waits for the measurement under way, if any. Not before another thread's Start.
  void Await();
  /// Returns what was measured since the last call, the same on all ranks: the bytes are those that
  /// a rank sends. Empty: nothing yet.
  std::optional<HostLink> Take();

 private:
  void Run();
  void Finish(const HostLink& link);
  HostLink Measure();
  /// Reduces values of this rank in place.
  void Reduce(ReduceOp op, std::vector<float>& values);

  Coordinator& coordinator_;
  ProcessSet& set_;
  const std::string name_;
  std::mutex mutex_;
  std::optional<HostLink> found_;
  std::thread thread_;
};

}  // namespace weir
