#pragma once

#include <string>
#include <vector>

#include "coordinator/rank/stall_inspector.h"
#include "coordinator/sets/process_sets.h"
#include "coordinator/work/live_runs.h"
#include "metrics/flight_recording.h"
#include "weir/error.h"

namespace weir {

/// Describes this rank's work for errors, logs, recordings and other ranks. Network thread only.
class RankReport {
 public:
  RankReport(const LiveRuns& live, const ProcessSets& sets) : live_(live), sets_(sets) {}

  /// Returns the context of an error about no single operation; names one that it interrupts.
  ErrorContext UnderWay(std::vector<int> ranks) const;
  /// Returns the same context in words, as the end of a sentence.
  std::string During() const;
  /// Returns everything under way, in words.
  std::string EverythingUnderWay() const;

  std::vector<StallInspector::Waiting> WaitingForAgreement() const;
  StallInspector::Doing Doing() const;
  /// Returns the values of Doing and more, for a recording.
  FlightReport Flight(const char* event, const std::string& reason) const;

 private:
  /// Returns the process sets in which this rank has no more data.
  std::vector<int> Joined() const;

  const LiveRuns& live_;
  const ProcessSets& sets_;
};

}  // namespace weir
