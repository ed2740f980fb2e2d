#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/summary/rank_places.h"
#include "common/supervision/meeting.h"
#include "common/supervision/supervision.h"
#include "launcher/job/assembly.h"
#include "launcher/job/ending.h"
#include "launcher/job/finalization.h"
#include "launcher/job/job.h"

namespace weir::launcher {

/// A job whose ranks live and die together: the first failure ends it, and what survivors do
/// afterwards is a consequence.
class FixedJob final : public Job {
 public:
  /// The last ranks are the servers. `send` hands a message to a rank's supervisor.
  FixedJob(RankPlaces places, JobPolicy policy, Time now, Send send);

  void OnMessage(int rank, const supervision::Message& message, Time now) override;
  void OnSupervisorLost(int rank, const std::string& how, Time now) override;
  void OnStartTrouble(const StartTrouble& trouble) override;
  void OnStarterEnded(const std::string& name, const std::vector<int>& ranks,
                      const std::string& advice, int wait_status, Time now) override;
  void OnLauncherFailed(const std::string& how, Time now) override;
  void OnInterrupt(int signal, Time now) override;
  std::string RecordFlights() override;
  void Tick(Time now) override;

  std::optional<Time> deadline() const override { return deadline_; }
  bool ending() const override { return ending_.begun(); }
  bool over() const override;
  int exit_code() const override { return cause_ ? cause_->code : 0; }
  std::string verdict() const override { return cause_ ? cause_->text : ""; }

 private:
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
  void OnHeartbeat(int rank, const supervision::Message& message, Time now);
  void OnAbort(int rank, const std::string& reason, Time now);
  void FailRank(int rank, const std::string& how, int code, Time now);
  /// `rank` ended with code 0 a while ago, or would: a failure if others miss it.
  void Settle(int rank, Time now);
  /// Describes the ranks that have not come, or how those that have miss each other.
  std::string AssemblyTrouble() const;
  void Enter(Ending::Phase phase, Time until);
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
  Ending ending_;
  Time start_due_;
  std::optional<Time> deadline_;
  std::optional<Cause> cause_;
  int flight_recordings_ = 0;
};

}  // namespace weir::launcher
