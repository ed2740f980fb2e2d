#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "metrics/gauges/engine_gauges.h"
#include "metrics/records/bucket_names.h"
#include "metrics/records/recorder.h"
#include "metrics/steps/step_summary.h"
#include "metrics/steps/step_totals.h"

namespace weir {

/// Follows a rank's records on a thread of its own ("weir-totals"), four times a
/// second, and reports the totals of its steps (RankTotals, as text): once a
/// second while there are new steps, and at the end. Thread-safe. Recorder,
/// names and gauges must outlive it.
class TotalsReporter {
 public:
  /// One thread at a time calls `send`, which may wait. `batch_size`:
  /// samples of a step; 0: not known.
  TotalsReporter(const Recorder& recorder, const BucketNames& names, const EngineGauges& gauges,
                 std::function<void(const std::string&)> send, int batch_size = 0);
  /// Reports for the last time.
  ~TotalsReporter();
  TotalsReporter(const TotalsReporter&) = delete;
  TotalsReporter& operator=(const TotalsReporter&) = delete;

  /// Reads the new records, and sends the totals if they changed.
  void Report();

 private:
  void Run(const std::stop_token& stop);
  void Drain();
  void SendNews();

  const Recorder& recorder_;
  const EngineGauges& gauges_;
  const std::function<void(const std::string&)> send_;
  const std::uint64_t batch_size_;

  std::mutex mutex_;  // Guards all members below.
  StepSummaries steps_;
  RankTotals totals_;  ///< From steps alone.
  std::vector<StageRecord> batch_;
  std::uint64_t next_ = 0;
  std::uint64_t lost_ = 0;
  std::string sent_;

  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace weir
