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
    std::function<void(Bucket*)> to_network;  ///< Its next stage is Gate or Exchange.
    std::function<void(Bucket*)> finished;    ///< No stage is left.
    std::function<void(Bucket*, const std::exception_ptr&)> failed;
  };

  /// `workers` = 0 is the serial mode.
  Pipeline(int workers, Recorder* recorder, EngineGauges* gauges, Callbacks callbacks);
  ~Pipeline() { Stop(); }

  /// Starts a run: the first stage of the list.
  void Begin(Bucket* bucket);
  /// Goes on after the network thread's stage at the cursor.
  void Resume(Bucket* bucket);
  /// Waits until no worker and no caller of Begin touches a bucket any more; queued ones are
  /// dropped. Further calls of Begin and Resume do nothing. Not from inside a callback.
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
