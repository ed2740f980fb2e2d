#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/host_pool.h"
#include "launcher/hosts/hosts.h"
#include "launcher/job/elastic_processes.h"
#include "launcher/job/ending.h"
#include "launcher/job/epoch.h"
#include "launcher/job/futility.h"
#include "launcher/job/job.h"
#include "launcher/job/parting.h"

namespace weir::launcher {

/// How far an elastic job may shrink and grow, and how often.
struct ElasticPolicy {
  int min_ranks = 1;
  int max_ranks = 1;
  bool finds_hosts = false;  ///< Hosts may come and go (Job::OnHosts).
  std::optional<HostPool::Cooldown> cooldown{};
  int reset_limit = -1;  ///< How often ranks may be dealt anew; -1: always.
  /// From the loss of a rank until the others must have come to be dealt anew.
  std::chrono::milliseconds timeout{600000};
};

/// A job that goes on without the ranks that it loses, in epochs: the ranks of one share a network.
/// When one of them is lost the others are told, leave what they were in, and come back (kAttach);
/// once all have, or are lost too, they are dealt anew, survivors in their old order, and meet.
/// Nobody is asked who is dead: weirrun, which hears it from the supervisors, decides.
///
/// Where hosts have free slots it starts processes. Once one of them has come, the ranks are told,
/// and come back at their next chance, so that nobody waits for a program to start. Ranks of hosts
/// that should go are told in the same way, and get no place any more.
class ElasticJob final : public Job {
 public:
  /// Starts processes on a host; they have the next numbers.
  using Start = std::function<void(const std::string& host, int count)>;

  /// `started`: the hosts of the processes that have been started. `say` takes a sentence for
  /// people.
  ElasticJob(const std::vector<Host>& hosts, const std::vector<std::string>& started,
             JobPolicy policy, ElasticPolicy elastic, Time now, Send send, Start start,
             std::function<void(const std::string&)> say);

  void OnMessage(int process, const supervision::Message& message, Time now) override;
  void OnSupervisorLost(int process, const std::string& how, Time now) override;
  void OnStartTrouble(const StartTrouble& trouble) override;
  void OnStarterEnded(const std::string& name, const std::vector<int>& processes,
                      const std::string& advice, int wait_status, Time now) override;
  void OnLauncherFailed(const std::string& how, Time now) override;
  void OnInterrupt(int signal, Time now) override;
  std::string RecordFlights() override;
  void OnHosts(const std::vector<Host>& hosts, Time now) override;
  void Tick(Time now) override;

  std::optional<Time> deadline() const override;
  bool ending() const override { return ending_.begun(); }
  bool over() const override;
  std::vector<int> ranks() const override;
  int exit_code() const override;
  std::string verdict() const override;

 private:
  using Process = ElasticProcess;

  struct Failure {
    std::string text;
    int code;
  };

  /// True while ranks that have their places have not all met.
  bool Meets() const { return epoch_.whole() && !epoch_.Unmet().empty(); }
  /// When those that others wait for are late, while anybody waits.
  Time AssemblyDue() const;
  /// The processes that the next epoch is waiting for.
  std::vector<int> Awaited() const;

  /// Starts processes on free slots.
  void Grow(Time now);
  /// Ends a process that has no place any more, in good order.
  void Dismiss(int process, Time now);
  bool can_grow(Time now) const;
  std::vector<int> InUse() const;
  /// The hosts on which a process may be started now, once for each slot.
  std::vector<std::string> FreeSlots(Time now) const;

  void OnAttach(int process, Time now);
  void OnJoined(int process);
  /// The process has got what those have that began the job.
  void OnReady(int process);
  void OnHeartbeat(int process, const supervision::Message& message);
  void OnUnheard(int process, const supervision::Message& message);
  /// Its supervisor has ended it.
  void OnStopped(int process, Time now);
  /// True if nobody is left that has what those would need that come.
  bool StateIsLost() const;
  void OnExited(int process, const supervision::Message& message, Time now);
  void OnAbort(int process, const std::string& reason, Time now);
  void OnLeave(int process, Time now);
  /// A loss if it has not joined a job that others have come to join.
  void OnExitedWell(int process, Time now);
  /// A process ended with code 0 a while ago: a loss if others of its epoch go on.
  void Settle(int process, Time now);
  /// The first process joins: those that have ended without are lost.
  void MissUnjoined(Time now);
  void Finish(int process, Time now);
  /// True if processes have ended with code 0 that nobody has missed.
  bool SomeEndedWell() const;
  void Lose(int process, const std::string& how, int code, Time now);
  /// Tells the others of the epoch that it is over, and why.
  void Break(int process, const supervision::Message& message, Time now);
  /// Ends the job if one epoch after the other ends so.
  void EndIfFutile(int process, const std::string& reason, Time now);
  void DealIfComplete(Time now);
  void Deal(const std::vector<int>& processes, Time now);
  /// Ends the processes that keep the others waiting.
  void OnLate(Time now);
  /// Ends the processes of hosts that do not reach others of the epoch.
  void PartHosts();
  /// Ends those that have come and have never worked with the others. False: there are none.
  bool CondemnNewcomers(const std::string& reason);
  /// Ends a process that is lost although it lives.
  void Condemn(int process, const std::string& why);
  void Fail(const Failure& failure, Time now);
  Failure TooFew(std::size_t left) const;
  /// Tells, once, that so many ranks wait for hosts.
  void TellOfWait(std::size_t ranks);
  /// Tells who has come, who has finished and who goes on.
  void TellOfDeal(const std::vector<int>& processes, const std::vector<int>& newcomers, Time now);
  void Enter(Ending::Phase phase, Time until);
  void Broadcast(const supervision::Message& message);

  ElasticProcesses processes_;
  const JobPolicy policy_;
  const ElasticPolicy elastic_;
  HostPool pool_;
  Send send_;
  Start start_;
  std::function<void(const std::string&)> say_;
  Ending ending_;
  Epoch epoch_;
  Parting parting_;
  std::optional<Time> assembling_{};  ///< Since when the next epoch, or this one's meeting, lasts.
  std::optional<Failure> failure_{};  ///< The first one since the last epoch began.
  std::optional<Failure> cause_{};    ///< Of the job's end.
  Futility futility_;
  bool attached_ = false;            ///< A process has come to join: the program has engines.
  bool met_ = false;                 ///< The ranks have met for the first time.
  bool finished_ = false;            ///< A process has ended in good order.
  std::vector<int> has_finished_{};  ///< Those that have, since the last epoch began.
  bool told_of_wait_ = false;        ///< For hosts, since the last epoch began.
  int flight_recordings_ = 0;
  Time last_tick_{};
};

}  // namespace weir::launcher
