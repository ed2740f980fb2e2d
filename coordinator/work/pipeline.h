#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "coordinator/work/bucket.h"
#include "coordinator/work/stage_worker.h"
#include "metrics/gauges/engine_gauges.h"
#include "metrics/records/recorder.h"

namespace weir {

/// Hands buckets from stage to stage. Worker stages run on the stage workers (mode thread) or in
/// the caller (mode serial, for comparison: compression then blocks whoever completed the bucket).
/// Both modes run the same code on the same data and give the same bits.
///
/// Thread-safe.
class Pipeline {
 public:
  struct Callbacks {
    std::function<void(Bucket*)> to_network;  ///< Called if the next stage is Gate or Exchange.
    std::function<void(Bucket*)> finished;    ///< Called if no stage is left.
    std::function<void(Bucket*, const std::exception_ptr&)> failed;
  };

  /// Runs in the serial mode if `workers` is 0.
  Pipeline(int workers, Recorder* recorder, EngineGauges* gauges, Callbacks callbacks);
  ~Pipeline() { Stop(); }

  /// Starts a run with the first stage of its list.
  void Begin(Bucket* bucket);
  /// Continues after the network thread's stage at the cursor.
  void Resume(Bucket* bucket);
  /// Waits until no worker and no caller of Begin or Resume touches a bucket any more; drops queued
  /// buckets. Later calls of Begin and Resume do nothing. Must not be called from a callback.
  void Stop();

 private:
  bool Enter();
  void Leave();
  void Advance(Bucket* bucket);
  void RunStages(Bucket* bucket);

  Recorder* const recorder_;
  EngineGauges* const gauges_;
  const Callbacks callbacks_;
  StageQueue queue_;  ///< Outlives the workers that wait for it.
  std::vector<std::unique_ptr<StageWorker>> workers_;

  std::mutex mutex_;
  std::condition_variable left_;
  int inside_ = 0;  ///< Callers of Begin and Resume that are in a stage.
  bool stopped_ = false;
};

}  // namespace weir
