#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/supervision/meeting.h"
#include "common/supervision/supervision.h"
#include "launcher/hosts/rank_places.h"
#include "launcher/job/assembly.h"
#include "launcher/job/finalization.h"
#include "launcher/job/start_trouble.h"

namespace weir::launcher {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

/// Time limits for the phases of a job's start and end.
struct JobPolicy {
  /// For every supervisor to report, and then for every engine to come once one waits.
  std::chrono::milliseconds start_timeout{30000};
  std::chrono::milliseconds grace{3000};       ///< From a failure to SIGTERM; after ^C to SIGKILL.
  std::chrono::milliseconds kill_after{1000};  ///< From SIGTERM to SIGKILL, then to giving up.
  /// Time that an exit with code 0 may stand before it counts as a loss to ranks that go on or wait
  /// for it: ranks that end together without saying so are no failure.
  std::chrono::milliseconds settle{1000};
};

/// State of a job's ranks, and the decisions that follow from it: the messages to send, when to
/// end ranks, and weirrun's final message and exit code. Does no input or output and takes the
/// time as a value, so tests drive it by hand. The first failure decides; what survivors do
/// afterwards is a consequence. Not thread-safe.
class Job {
 public:
  using Send = std::function<void(int rank, const supervision::Message&)>;

  /// The last ranks are the servers. `send` hands a message to a rank's supervisor.
  Job(RankPlaces places, JobPolicy policy, Time now, Send send);

  /// Handles a message from the supervisor of `rank`, kHello included.
  void OnMessage(int rank, const supervision::Message& message, Time now);
  /// The supervisor of `rank` has ended or is silent: nobody knows how its program ended.
  void OnSupervisorLost(int rank, const std::string& how, Time now);
  /// Notes why a host or a rank does not start. The job ends later, by the end of who starts them
  /// or the start's deadline.
  void OnStartTrouble(const StartTrouble& trouble);
  /// The process `name` that has started `ranks` has ended; `advice` for when it has not started
  /// all.
  void OnStarterEnded(const std::string& name, const std::vector<int>& ranks,
                      const std::string& advice, int wait_status, Time now);
  /// Ends the job because weirrun itself cannot go on.
  void OnLauncherFailed(const std::string& how, Time now);
  /// Handles SIGINT or SIGTERM to weirrun. The second one leaves no grace.
  void OnInterrupt(int signal, Time now);
  /// Handles SIGUSR1 to weirrun: asks the engines of all ranks that have one for a flight
  /// recording. Returns these ranks as text for people; "" when there is none.
  std::string RecordFlights();
  /// Does everything that is due. Call at `deadline()`, or at any time.
  void Tick(Time now);

  std::optional<Time> deadline() const { return deadline_; }
  /// True if a failure or an interrupt has begun to end the job.
  bool ending() const { return phase_ != Phase::kRunning; }
  /// True if the last rank has ended.
  bool over() const;
  int exit_code() const { return cause_ ? cause_->code : 0; }
  /// Returns one sentence that says why the job failed; empty when it did not.
  std::string verdict() const { return cause_ ? cause_->text : ""; }

 private:
  enum class Phase { kRunning, kGrace, kTerminating, kKilling };
  struct Rank {
    enum { kStarting, kRunning, kOver } state = kStarting;
    std::string trouble{};  // Why it does not start, if known.
    bool given_up = false;  // It was starting when the job began to end.
    bool unstarted() const { return state == kStarting || given_up; }
    std::optional<Time> settles{};  // Ended with code 0: time to check who misses it.
    bool dismissed = false;         // A server that was told to end: how it ends does not matter.
  };
  struct Cause {
    std::string text;
    int code;
    // Values that are not final are replaced by the first exit that says more.
    bool text_is_final = true;
    bool code_is_final = true;
    std::optional<int> code_of = std::nullopt;  ///< The one rank whose exit can say more.
    /// The rank ended while it waited for others to start: why those do not says more.
    bool yields_to_trouble = false;
  };

  void MarkOver(int rank);
  bool RanksAreOver() const;
  /// Ends the servers once no rank is left.
  void DismissServers(Time now);
  /// True if the program of `rank` has ended or is about to.
  bool CannotJoin(int rank) const;
  void AnswerFinalizing();
  void OnAttach(int rank, Time now);
  void OnExited(int rank, const supervision::Message& message, Time now);
  void OnAbort(int rank, const std::string& reason, Time now);
  void FailRank(int rank, const std::string& how, int code, Time now);
  /// `rank` ended with code 0 a while ago, or would: a failure if others miss it.
  void Settle(int rank, Time now);
  /// Describes the ranks that have not come, or how those that have miss each other.
  std::string AssemblyTrouble() const;
  /// Enters a phase, only forwards: a phase that is over or has begun stays as it is, its end too.
  void Enter(Phase phase, Time until);
  void Broadcast(const supervision::Message& message, int except = -1);
  void SetDeadline();
  void GiveUpOnStarting();
  /// Writes "ranks 0-1 on a, rank 2 on b" of the ranks that have not started.
  std::string StartingRanks() const;
  /// Writes "rank 2 on b did not start: why" of the ranks whose reason is known.
  std::string KnownTroubles() const;
  void BlameTrouble();

  RankPlaces places_;
  std::vector<Rank> ranks_;
  JobPolicy policy_;
  Assembly assembly_;
  Finalization finalization_;
  supervision::Meeting meeting_;
  Send send_;
  Phase phase_ = Phase::kRunning;
  Time phase_ends_;  // While running: the deadline of the start.
  std::optional<Time> deadline_;
  std::optional<Cause> cause_;
  int flight_recordings_ = 0;
};

}  // namespace weir::launcher
