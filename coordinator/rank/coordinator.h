#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "common/gpu/gpu.h"
#include "common/threads/thread_pool.h"
#include "compression/process/compression_process.h"
#include "coordinator/network/gpu_offers.h"
#include "coordinator/plan/autotune_log.h"
#include "coordinator/plan/plan_file.h"
#include "coordinator/rank/ending.h"
#include "coordinator/rank/network_thread.h"
#include "coordinator/rank/rank_environment.h"
#include "coordinator/rank/set_changes.h"
#include "coordinator/sets/process_sets.h"
#include "coordinator/work/handle_table.h"
#include "coordinator/work/inbox.h"
#include "coordinator/work/network_waiter.h"
#include "coordinator/work/pipeline.h"
#include "metrics/gauges/engine_gauges.h"
#include "metrics/records/bucket_names.h"
#include "metrics/records/recorder.h"
#include "metrics/steps/step_recorder.h"
#include "weir/network_totals.h"
#include "weir/settings.h"

namespace weir {

/// A rank as its program's threads see it: owns the network thread and the stage workers, tells
/// them of what is complete here, and waits for them. Buckets come in complete (Run), are
/// negotiated, exchanged and handed back.
///
/// Thread-safe. Ends once (Ending); after that every call throws the reason.
class Coordinator {
 public:
  /// Returns once connected. Throws what NetworkThread throws.
  Coordinator(const Settings& settings, RankEnvironment environment);
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  int rank() const { return network_->rank(); }
  int size() const { return network_->size(); }
  /// Returns what carries the messages between ranks, for people.
  std::string network_name() const { return network_->network_name(); }
  bool hosts_updated() const { return network_->hosts_updated(); }
  const Settings& settings() const { return settings_; }
  HandleTable& handles() { return handles_; }
  EngineGauges& gauges() { return gauges_; }
  Recorder& recorder() { return *environment_.recorder; }
  StepRecorder& steps() { return steps_; }
  /// Shares the work of a stage (WEIR_WORKER_THREADS).
  ThreadPool& pool() { return pool_; }
  /// Returns the process that compresses for this rank (WEIR_PIPELINE=process), or null.
  CompressionProcess* compression_process() { return compression_process_.get(); }
  /// Calls ClockComparison::Await.
  std::optional<JobClock> AwaitClock(std::chrono::milliseconds patience) const {
    return network_->AwaitClock(patience);
  }
  Gpus& gpus() { return gpus_; }
  GpuOffers& gpu_offers() { return gpu_offers_; }
  /// Sets whether each negotiation round is recorded.
  void MarkCycles(bool mark) { marks_cycles_ = mark; }
  ProcessSets& process_sets() { return network_->sets(); }
  SetChanges& set_changes() { return *set_changes_; }
  BucketNames& names() { return *environment_.names; }
  PlanFile& plan_file() { return *plan_file_; }
  AutotuneLog& autotune_log() { return autotune_log_; }
  /// Returns the state of the engine: whether it has ended, and why.
  Ending& ending() { return ending_; }
  const Ending& ending() const { return ending_; }
  NetworkThread& network() { return *network_; }
  /// Sends `message` to the servers, unless it is empty. `asynchronous`: ranks will not wait for
  /// each other, each serves, and Shutdown waits for all to call it.
  void UseServers(std::vector<std::byte> message, bool asynchronous);

  /// Submits a single operation, by the request's name, to a set that this rank is a member of.
  /// Throws InvalidArgument while one of that name is under way there.
  Handle Submit(ProcessSet& set, Submission submission);

  /// Declares that this rank submits nothing more to the set until all its ranks have joined, and
  /// waits for that. Returns the last rank to join. Throws InvalidArgument in the middle of a step
  /// of the set, or if gradients are asynchronous.
  int Join(ProcessSet& set);

  /// Negotiates a bucket of gradients, which has a slot and is complete on this rank, and runs its
  /// stages.
  void Run(Bucket* bucket);

  /// Waits with the default deadline. A passed deadline ends the engine on all ranks.
  void Wait(Handle handle);
  /// Waits like Wait, with the deadline for all ranks to have started.
  void WaitForStart(Handle handle);

  /// Waits like Wait, unless the program has waited for the handle already.
  void WaitIfKnown(Handle handle);
  /// Waits until the network thread has handled all that happened before. Afterwards a bucket whose
  /// run is over may be destroyed, and after Fail every bucket.
  void Fence();
  /// Returns the totals of the transport as of now.
  NetworkTotals network_totals();

  /// Ends the engine on all ranks. Idempotent; the first reason wins.
  void Fail(const std::exception_ptr& error);
  /// Leaves in good order: waits until all ranks leave too, or have failed, at most the deadline.
  /// The network is not used any more once it returns. Idempotent.
  void Shutdown();

 private:
  /// Opens what lies outside the engine: files, and the compression process.
  void OpenOutside();
  /// Deadline of a wait: a setting, and the time of the last progress, from which it counts (a time
  /// of NowNs; empty: it counts from the beginning).
  struct Patience {
    double seconds = 0;
    std::string_view setting;
    std::function<std::int64_t()> progress_ns;
  };
  void WaitWith(const Patience& patience, Handle handle);
  /// Waits, and serves, until all ranks have ended asynchronous training.
  void AwaitAsynchronousRanks();
  void WarnOfIdleServers() const;
  /// Tells the network thread that a bucket is complete here. False if that thread has ended; the
  /// run has then failed with its reason.
  bool Announce(InboxEvent event);

  const Settings settings_;
  const RankEnvironment environment_;
  Ending ending_;
  HandleTable handles_;
  NetworkWaiter waiter_;
  Inbox inbox_{waiter_};
  std::atomic<bool> uses_servers_ = false;
  std::atomic<bool> asynchronous_ = false;
  EngineGauges gauges_;
  StepRecorder steps_{*environment_.recorder};
  ThreadPool pool_;
  std::unique_ptr<CompressionProcess> compression_process_;
  Gpus gpus_{settings_.gpu_library, [this] { waiter_.Wake(); }};
  GpuOffers gpu_offers_{settings_};
  std::unique_ptr<PlanFile> plan_file_;
  AutotuneLog autotune_log_{settings_};
  std::unique_ptr<Pipeline> pipeline_;
  std::atomic<bool> marks_cycles_ = false;
  std::unique_ptr<NetworkThread> network_;
  std::unique_ptr<SetChanges> set_changes_;
};

}  // namespace weir
