#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/summary/elastic_totals.h"
#include "common/supervision/rank_totals.h"

namespace weir {

/// Reports of a job's processes about their steps. A process may make one engine after another;
/// their steps are added up. Not thread-safe.
class JobTotals {
 public:
  explicit JobTotals(std::size_t processes) : processes_(processes) {}

  /// Processes have come that were not there at the start.
  void Grow(std::size_t processes) { processes_.resize(processes); }

  /// Called when `process` makes an engine, which counts from 0.
  void OnAttach(int process);
  /// Called when this engine gets its place in an epoch of an elastic job.
  void OnPlace(int process, int epoch);
  /// Takes a report of its engine; the last one counts.
  void OnTotals(int process, std::string text);
  /// Returns the totals by process. Unreadable reports count for nothing.
  std::vector<RankTotals> All() const;
  /// Returns what an elastic job has done in its epochs.
  ElasticTotals Elastic() const;

 private:
  struct Engine {
    int epoch = 0;  ///< 0: none.
    RankTotals totals;
  };
  struct Process {
    std::vector<Engine> before;  ///< Earlier engines with steps.
    int epoch = 0;               ///< Of the engine now.
    std::string now;             ///< Its last report; empty: none yet.
    bool took_part = false;      ///< In an epoch.
  };
  /// Returns its engines that have reported.
  static std::vector<Engine> EnginesOf(const Process& process);

  std::vector<Process> processes_;
  std::map<int, std::size_t> ranks_;  ///< By epoch.
};

}  // namespace weir
