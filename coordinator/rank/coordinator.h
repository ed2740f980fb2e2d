#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/gpu/gpu.h"
#include "common/threads/thread_pool.h"
#include "coordinator/network/gpu_offers.h"
#include "coordinator/rank/ending.h"
#include "coordinator/rank/failure.h"
#include "coordinator/rank/rank_report.h"
#include "coordinator/rank/set_changes.h"
#include "coordinator/rank/stall_inspector.h"
#include "coordinator/servers/server_links.h"
#include "coordinator/sets/process_sets.h"
#include "coordinator/work/handle_table.h"
#include "coordinator/work/inbox.h"
#include "coordinator/work/live_runs.h"
#include "coordinator/work/network_speed.h"
#include "coordinator/work/network_waiter.h"
#include "coordinator/work/pipeline.h"
#include "metrics/flight_recording.h"
#include "metrics/gauges/engine_gauges.h"
#include "metrics/records/bucket_names.h"
#include "metrics/records/recorder.h"
#include "metrics/steps/step_recorder.h"
#include "ops/exchanges/clock_exchange.h"
#include "ops/membership/membership.h"
#include "ops/transport/metered_transport.h"
#include "weir/error.h"
#include "weir/settings.h"

namespace weir {

/// The heart of a rank: owns the network thread, which makes every call of the transport, and the
/// stage workers. Buckets come in complete (Run), are negotiated, exchanged and handed back.
///
/// Thread-safe. Ends once (Ending); after that every call throws the reason.
class Coordinator {
 public:
  /// Means that a rank gets from its process. The network thread calls `connect` and `disconnect`.
  struct Environment {
    std::function<std::unique_ptr<Transport>()> connect;
    /// Called when the network is not needed any more, before the transport is closed. `failed`:
    /// other ranks may be dead, so it must not wait for them.
    std::function<void(bool failed)> disconnect;
    Membership* membership = nullptr;
    Recorder* recorder = nullptr;
    BucketNames* names = nullptr;
    int local_size = 1;   ///< Ranks that share this host's cores.
    std::string hosts{};  ///< Hosts of the whole job, "a:2,b:1"; empty: unknown.
    NetworkSpeed::Bounds speed_bounds{};
    /// Records what a rank was doing when it fails or stalls, on the network thread; may be empty.
    std::function<void(int rank, int size, const FlightReport&)> record_flight;
  };

  /// Returns once connected. Throws what `connect` throws.
  Coordinator(const Settings& settings, Environment environment);
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  const Settings& settings() const { return settings_; }
  HandleTable& handles() { return handles_; }
  EngineGauges& gauges() { return gauges_; }
  Recorder& recorder() { return *environment_.recorder; }
  StepRecorder& steps() { return steps_; }
  /// Shares the work of a stage (WEIR_WORKER_THREADS).
  ThreadPool& pool() { return pool_; }
  /// Returns the job's clock as this rank knows it. Waits until it is measured, at the start of the
  /// job, but not longer than `patience`. Empty: it is not known in time.
  std::optional<JobClock> AwaitClock(std::chrono::milliseconds patience) const;
  Gpus& gpus() { return gpus_; }
  GpuOffers& gpu_offers() { return gpu_offers_; }
  /// Sets whether each negotiation round is recorded.
  void MarkCycles(bool mark) { marks_cycles_ = mark; }
  ProcessSets& process_sets() { return *sets_; }
  SetChanges& set_changes() { return *set_changes_; }
  BucketNames& names() { return *environment_.names; }
  /// Returns the state of the engine: whether it has ended, and why.
  Ending& ending() { return ending_; }
  const Ending& ending() const { return ending_; }
  /// Returns the links. Any thread may use const members; the rest is the network thread's.
  const ServerLinks& server_links() const { return *server_links_; }
  /// Calls ServerLinks::TakeNumbers; network thread only.
  std::optional<std::uint32_t> TakeServerNumbers(std::size_t count) {
    return server_links_->TakeNumbers(count);
  }
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
  /// Deadline of a wait: a setting, and the time of the last progress, from which it counts (a time
  /// of NowNs; empty: it counts from the beginning).
  struct Patience {
    double seconds = 0;
    std::string_view setting;
    std::function<std::int64_t()> progress_ns;
  };
  void WaitWith(const Patience& patience, Handle handle);
  void ThreadMain(std::promise<void> connected);
  void ConnectNetwork();
  /// Returns the network of the ranks, without servers. Throws InvalidArgument on a server.
  Transport& ConnectRanks();
  /// Waits, and serves, until all ranks have ended asynchronous training.
  void AwaitAsynchronousRanks();
  void WarnOfIdleServers() const;
  void Loop();
  bool HandleInbox();
  void OnEvent(const InboxEvent& event);
  void OnMembership(const MembershipEvent& event);
  MeteredTransport::Use negotiation() {
    return {.bytes = &gauges_.traffic_of(TrafficOp::kNegotiation)};
  }
  /// Compares clocks until the offsets of this rank and of the others to rank 0 are known.
  bool PollClocks();
  /// Moves every set of this rank forward; true if something moved.
  bool PollSets(std::int64_t now_ns);
  /// True if all that was agreed on is done, and nothing more will be agreed on.
  bool Quiet() const;
  void Close();
  /// Ends the job for the others too after the ranks could not meet, as they need this one.
  void AbandonStart(const std::exception_ptr& error);
  void Collapse(const std::exception_ptr& error);
  /// Gives the membership a moment to say who died of what. A transport often notices a death
  /// first, but knows only that a peer does not answer.
  std::exception_ptr AwaitVerdict(const std::exception_ptr& error);
  void EndRuns(const std::exception_ptr& error);
  /// Logs what this rank was doing when it failed.
  void WriteLastWords(const std::exception_ptr& error) const;
  /// Records what this rank is doing. `event` and `request`: see FlightReport.
  void RecordFlight(const char* event, const std::string& reason, int request = 0);
  /// Tells the network thread that a bucket is complete here. False if that thread has ended; the
  /// run has then failed with its reason.
  bool Announce(InboxEvent event);
  /// Closes the inbox, as the network thread's last act for others: fails the runs that came too
  /// late, and ends every wait in Fence.
  void CloseInbox();
  void Pause(std::int64_t now_ns);
  NetworkTotals UpdateGauges();
  /// Ends the job if something has waited for agreement beyond the limit.
  void InspectStalls(std::int64_t now_ns);
  void EndStalled(const std::string& reason);
  /// Ends the job because a wait has passed its deadline; says what was waited for.
  void EndLate(const std::string& deadline);

  const Settings settings_;
  const Environment environment_;
  Ending ending_;
  HandleTable handles_;
  NetworkWaiter waiter_;
  Inbox inbox_{waiter_};
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<MeteredTransport> meter_;        ///< Wraps transport_ for what follows.
  NetworkSpeed speed_{environment_.speed_bounds};  ///< Speed of what goes through it.
  std::unique_ptr<Transport> ranks_transport_;     ///< Set if there are servers beside the ranks.
  std::unique_ptr<ServerLinks> server_links_;
  std::atomic<bool> uses_servers_ = false;
  std::atomic<bool> asynchronous_ = false;
  int rank_ = 0;
  int size_ = 1;
  EngineGauges gauges_;
  StepRecorder steps_{*environment_.recorder};
  ThreadPool pool_;
  Gpus gpus_{settings_.gpu_library, [this] { waiter_.Wake(); }};
  GpuOffers gpu_offers_{settings_};
  std::unique_ptr<Pipeline> pipeline_;
  std::atomic<bool> marks_cycles_ = false;

  std::unique_ptr<SetChanges> set_changes_;

  std::promise<void> left_;  ///< Set once the network thread has nothing left to do.
  const std::shared_future<void> has_left_ = left_.get_future().share();

  std::promise<JobClock> clock_measured_;
  const std::shared_future<JobClock> job_clock_ = clock_measured_.get_future().share();

  // Members for the network thread only.
  std::unique_ptr<ClockExchange> clocks_;
  bool looping_ = true;  ///< False once out of the loop.
  LiveRuns live_{gauges_};
  std::unique_ptr<ProcessSets> sets_;
  std::unique_ptr<RankReport> report_;
  std::unique_ptr<StallInspector> stalls_;
  std::vector<InboxEvent> events_;
  bool job_ends_ = false;                  ///< True: this rank leaves, or heard that another does.
  int leaving_rank_ = -1;                  ///< First rank to leave, if known.
  std::int64_t shutdown_deadline_ns_ = 0;  ///< 0: this rank does not leave.
  std::int64_t next_flight_ns_ = 0;        ///< Time until which no stall is recorded again.
  Failure failure_;
  std::vector<std::shared_ptr<std::promise<void>>> fences_;
  NetworkTotals totals_seen_;
  std::int64_t progress_ns_ = 0;
  bool wakes_ = false;  ///< The transport says when there is something to do.

  std::jthread thread_;  ///< Last member, as it uses everything above.
};

}  // namespace weir
