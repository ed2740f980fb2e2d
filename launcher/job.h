#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/supervision.h"
#include "launcher/assembly.h"
#include "launcher/finalization.h"
#include "launcher/rank_places.h"
#include "launcher/start_trouble.h"

namespace weir::launcher {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

/// How long the parts of an ending may take.
struct JobPolicy {
  /// For every supervisor to report, and then for every engine to come once one waits.
  std::chrono::milliseconds start_timeout{30000};
  std::chrono::milliseconds grace{3000};       ///< From a failure to SIGTERM; after ^C to SIGKILL.
  std::chrono::milliseconds kill_after{1000};  ///< From SIGTERM to SIGKILL, then to giving up.
  /// How long an exit with code 0 may stand before it counts as a loss to those who go on or wait
  /// for it: ranks that end together without saying so are no failure.
  std::chrono::milliseconds settle{1000};
};

/// What has become of a job's ranks, and what follows from it: who is told, when ranks are ended,
/// what weirrun says and returns in the end. Does no input or output and takes the time as a value,
/// so tests drive it by hand. The first failure decides; what survivors do afterwards is a
/// consequence. Not thread-safe.
class Job {
 public:
  using Send = std::function<void(int rank, const supervision::Message&)>;

  /// Servers are ranks here, the last ones. `send` hands a message to a rank's supervisor.
  Job(RankPlaces places, JobPolicy policy, Time now, Send send);

  /// A message from the supervisor of `rank`, kHello included.
  void OnMessage(int rank, const supervision::Message& message, Time now);
  /// The supervisor of `rank` has gone or is silent: nobody knows how its program ended.
  void OnSupervisorLost(int rank, const std::string& how, Time now);
  /// Somebody knows why a host or a rank does not start. What ends the job is mpiexec's end or the
  /// start's deadline.
  void OnStartTrouble(const StartTrouble& trouble);
  void OnMpiexecEnded(int wait_status, Time now);
  /// weirrun itself cannot go on.
  void OnLauncherFailed(const std::string& how, Time now);
  /// SIGINT or SIGTERM to weirrun. The second one leaves no grace.
  void OnInterrupt(int signal, Time now);
  /// SIGUSR1 to weirrun: asks the engines of all ranks that have one for a flight recording, and
  /// returns them as people call them; "" when there is none.
  std::string RecordFlights();
  /// Does what is due. Call at `deadline()`, or at any time.
  void Tick(Time now);

  std::optional<Time> deadline() const { return deadline_; }
  /// Whether a failure or an interrupt has begun to end the job.
  bool ending() const { return phase_ != Phase::kRunning; }
  /// Whether the last rank has ended.
  bool over() const;
  int exit_code() const { return cause_ ? cause_->code : 0; }
  /// One sentence that says why the job failed; empty when it did not.
  std::string verdict() const { return cause_ ? cause_->text : ""; }

 private:
  enum class Phase { kRunning, kGrace, kTerminating, kKilling };
  struct Rank {
    enum { kStarting, kRunning, kOver } state = kStarting;
    std::string trouble{};  // Why it does not start, if known.
    bool given_up = false;  // It was starting when the job began to end.
    bool unstarted() const { return state == kStarting || given_up; }
    std::optional<Time> settles{};  // Ends with code 0: when it is looked at who misses it.
    bool dismissed = false;  // A server that was told to end: how it does is nobody's business.
  };
  struct Cause {
    std::string text;
    int code;
    // What is not final is replaced by the first exit that says more.
    bool text_is_final = true;
    bool code_is_final = true;
    std::optional<int> code_of = std::nullopt;  ///< The one rank whose exit can say more.
    /// A rank ended while it waited for others to start: why those do not says more.
    bool yields_to_trouble = false;
  };

  void MarkOver(int rank);
  bool RanksAreOver() const;
  /// Once no rank is left, servers end.
  void DismissServers(Time now);
  /// Whether the program of `rank` has ended or is about to.
  bool CannotJoin(int rank) const;
  void AnswerFinalizing();
  void OnAttach(int rank, Time now);
  void OnExited(int rank, const supervision::Message& message, Time now);
  void OnAbort(int rank, const std::string& reason, Time now);
  void FailRank(int rank, const std::string& how, int code, Time now);
  /// `rank` ended with code 0 a while ago, or would: a failure if others miss it.
  void Settle(int rank, Time now);
  /// Those who have not come, or how those who have miss each other.
  std::string AssemblyTrouble() const;
  /// Only forwards: a phase that is over or has begun stays as it is, its end too.
  void Enter(Phase phase, Time until);
  void Broadcast(const supervision::Message& message, int except = -1);
  void SetDeadline();
  void GiveUpOnStarting();
  /// "ranks 0-1 on a, rank 2 on b" of those that have not started.
  std::string StartingRanks() const;
  /// "rank 2 on b did not start: why" of those of which the reason is known.
  std::string KnownTroubles() const;
  void BlameTrouble();

  RankPlaces places_;
  std::vector<Rank> ranks_;
  JobPolicy policy_;
  Assembly assembly_;
  Finalization finalization_;
  Send send_;
  Phase phase_ = Phase::kRunning;
  Time phase_ends_;  // While running: when the start times out.
  std::optional<Time> deadline_;
  std::optional<Cause> cause_;
  int flight_recordings_ = 0;
};

}  // namespace weir::launcher
