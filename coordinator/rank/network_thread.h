#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "coordinator/network/gpu_offers.h"
#include "coordinator/rank/clock_comparison.h"
#include "coordinator/rank/connection.h"
#include "coordinator/rank/ending.h"
#include "coordinator/rank/exchange_watch.h"
#include "coordinator/rank/failure.h"
#include "coordinator/rank/leaving.h"
#include "coordinator/rank/rank_environment.h"
#include "coordinator/rank/rank_report.h"
#include "coordinator/rank/stall_inspector.h"
#include "coordinator/servers/server_links.h"
#include "coordinator/sets/process_sets.h"
#include "coordinator/work/handle_table.h"
#include "coordinator/work/inbox.h"
#include "coordinator/work/live_runs.h"
#include "coordinator/work/network_waiter.h"
#include "coordinator/work/pipeline.h"
#include "metrics/gauges/engine_gauges.h"
#include "ops/membership/membership.h"
#include "weir/network_totals.h"
#include "weir/settings.h"

namespace weir {

/// The thread of a rank that makes every call of the transport. One loop drains the inbox, moves
/// rounds and exchanges forward, and waits, until the job ends: in good order, or because this or
/// another rank failed. What others want of it they post to the inbox.
class NetworkThread {
 public:
  /// What a rank's other threads use too.
  struct Shared {
    const Settings& settings;
    const RankEnvironment& environment;
    Ending& ending;
    HandleTable& handles;
    Inbox& inbox;
    NetworkWaiter& waiter;
    EngineGauges& gauges;
    Pipeline& pipeline;
    GpuOffers& gpu_offers;
    const std::atomic<bool>& marks_cycles;
  };

  /// Returns once connected. Throws what Connection throws.
  explicit NetworkThread(const Shared& shared);
  /// Waits for the thread. Ends the job on all ranks, unless it has ended (AwaitEnd).
  ~NetworkThread();
  NetworkThread(const NetworkThread&) = delete;
  NetworkThread& operator=(const NetworkThread&) = delete;

  // Any thread may call the next members.

  /// Waits until the network is not used any more.
  void AwaitEnd() const { has_ended_.wait(); }
  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Returns what carries the messages (Transport::Describe).
  std::string network_name() const { return connection_->meter().Describe(); }
  ProcessSets& sets() { return *sets_; }
  /// True once the launcher has said that hosts come or go.
  bool hosts_updated() const { return hosts_updated_; }
  /// Returns the links, of which any thread may use const members.
  const ServerLinks& server_links() const { return connection_->server_links(); }
  /// Calls ClockComparison::Await.
  std::optional<JobClock> AwaitClock(std::chrono::milliseconds patience) const {
    return clock_->Await(patience);
  }

  // Only the thread itself may call the next member.

  /// Calls ServerLinks::TakeNumbers.
  std::optional<std::uint32_t> TakeServerNumbers(std::size_t count) {
    return connection_->server_links().TakeNumbers(count);
  }

 private:
  void Main(std::promise<void> connected);
  void Connect();
  /// Ends the job for the others too after the ranks could not meet, as they need this one.
  void AbandonStart(const std::exception_ptr& error);

  void Loop();
  bool HandleInbox();
  void OnEvent(const InboxEvent& event);
  void OnMembership(const MembershipEvent& event);
  /// Compares clocks until the offsets of this rank and of the others to rank 0 are known.
  bool PollClock();
  /// Moves every set of this rank forward; true if something moved.
  bool PollSets(std::int64_t now_ns);
  /// True if all that was agreed on is done, and nothing more will be agreed on.
  bool Quiet() const;
  void Pause(std::int64_t now_ns);
  void UpdateGauges();
  /// Ends the job if something has waited for agreement beyond the limit.
  void InspectStalls(std::int64_t now_ns);
  /// Ends the job, in good order, with all that is under way here.
  void Close();

  void EndStalled(const std::string& reason);
  /// Ends the job because a wait has passed its deadline; says what was waited for.
  void EndLate(const std::string& deadline);
  /// Gives the membership a moment to say who died of what. A transport often notices a death
  /// first, but knows only that a peer does not answer.
  std::exception_ptr AwaitVerdict(const std::exception_ptr& error);
  /// Ends the job after a failure.
  void Collapse(const std::exception_ptr& error);
  void EndRuns(const std::exception_ptr& error);
  /// Logs what this rank was doing when it failed.
  void WriteLastWords(const std::exception_ptr& error) const;
  /// Records what this rank is doing. `event` and `request`: see FlightReport.
  void RecordFlight(const char* event, const std::string& reason, int request = 0);
  /// Closes the inbox, as the last act for others: fails the runs that came too late, and ends
  /// every wait for a fence.
  void CloseInbox();

  const Shared shared_;
  Membership* const membership_;  ///< Null: nobody tells of other ranks' ends.
  int rank_ = 0;
  int size_ = 1;
  std::unique_ptr<Connection> connection_;
  LiveRuns live_;
  std::unique_ptr<ProcessSets> sets_;
  std::unique_ptr<ClockComparison> clock_;
  std::unique_ptr<RankReport> report_;
  std::unique_ptr<StallInspector> stalls_;
  std::unique_ptr<ExchangeWatch> exchange_watch_;

  std::vector<InboxEvent> events_;
  std::vector<std::shared_ptr<std::promise<void>>> fences_;
  bool looping_ = true;  ///< False once out of the loop.
  Leaving leaving_;
  Failure failure_;
  std::atomic<bool> hosts_updated_ = false;
  std::int64_t next_flight_ns_ = 0;  ///< Time until which no stall is recorded again.
  std::uint64_t movements_seen_ = 0;

  std::promise<void> ended_;
  const std::shared_future<void> has_ended_ = ended_.get_future().share();

  std::jthread thread_;  ///< Last member, as it uses everything above.
};

}  // namespace weir
