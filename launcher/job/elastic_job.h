#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/job/ending.h"
#include "launcher/job/epoch.h"
#include "launcher/job/job.h"

namespace weir::launcher {

/// How far an elastic job may shrink, and how often.
struct ElasticPolicy {
  int min_ranks = 1;
  int reset_limit = -1;  ///< How often ranks may be dealt anew; -1: always.
  /// From the loss of a rank until the others must have come to be dealt anew.
  std::chrono::milliseconds timeout{600000};
};

/// A job that goes on without the ranks that it loses, in epochs: the ranks of one share a network.
/// When one of them is lost the others are told, leave what they were in, and come back (kAttach);
/// once all have, or are lost too, they are dealt anew, survivors in their old order, and meet.
/// Nobody is asked who is dead: weirrun, which hears it from the supervisors, decides.
class ElasticJob final : public Job {
 public:
  /// `hosts`: of each process. `say` takes a sentence for people.
  ElasticJob(std::vector<std::string> hosts, JobPolicy policy, ElasticPolicy elastic, Time now,
             Send send, std::function<void(const std::string&)> say);

  void OnMessage(int process, const supervision::Message& message, Time now) override;
  void OnSupervisorLost(int process, const std::string& how, Time now) override;
  void OnStartTrouble(const StartTrouble& trouble) override;
  void OnStarterEnded(const std::string& name, const std::vector<int>& processes,
                      const std::string& advice, int wait_status, Time now) override;
  void OnLauncherFailed(const std::string& how, Time now) override;
  void OnInterrupt(int signal, Time now) override;
  std::string RecordFlights() override;
  void Tick(Time now) override;

  std::optional<Time> deadline() const override;
  bool ending() const override { return ending_.begun(); }
  bool over() const override;
  int exit_code() const override;
  std::string verdict() const override;

 private:
  struct Process {
    std::string host;
    enum { kStarting, kRunning, kOver } state = kStarting;
    bool waits = false;  ///< Has come to be given a place.
    int rank = -1;       ///< The last one that it was given; -1: none yet.
    bool condemned = false;
    std::optional<Time> settles{};  ///< Ended with code 0: time to check who misses it.
    std::string trouble{};          ///< Why it does not start, if known.
  };
  struct Failure {
    std::string text;
    int code;
  };

  Process& At(int process) { return processes_[static_cast<std::size_t>(process)]; }
  const Process& At(int process) const { return processes_[static_cast<std::size_t>(process)]; }
  int number_of_processes() const { return static_cast<int>(processes_.size()); }
  /// Describes a process for people, by its rank if it has had one: "rank 1 on b".
  std::string NameOf(int process) const;
  std::string NamesOf(const std::vector<int>& processes) const;
  template <class Condition>
  std::vector<int> Those(Condition condition) const;
  std::vector<int> Alive() const;
  /// True until the ranks have met for the first time.
  bool starts() const { return epoch_.number() == 0 || (epoch_.number() == 1 && epoch_.whole()); }
  /// When those that others wait for are late, while anybody waits.
  Time AssemblyDue() const;
  /// The processes that the next epoch is waiting for.
  std::vector<int> Awaited() const;

  void OnExited(int process, const supervision::Message& message, Time now);
  void OnAbort(int process, const std::string& reason, Time now);
  void OnLeave(int process, Time now);
  /// A process ended with code 0 a while ago: a loss if others of its epoch go on.
  void Settle(int process, Time now);
  void Lose(int process, const std::string& how, int code, Time now);
  /// Tells the others of the epoch that it is over, and why.
  void Break(int process, const supervision::Message& message, Time now);
  void DealIfComplete(Time now);
  void Deal(const std::vector<int>& processes, Time now);
  /// Ends the processes that keep the others waiting.
  void OnLate(Time now);
  void Fail(const Failure& failure, Time now);
  void Enter(Ending::Phase phase, Time until);
  void Broadcast(const supervision::Message& message);

  std::vector<Process> processes_;
  const JobPolicy policy_;
  const ElasticPolicy elastic_;
  Send send_;
  std::function<void(const std::string&)> say_;
  Ending ending_;
  Time start_due_;
  Epoch epoch_;
  std::optional<Time> assembling_{};  ///< Since when the next epoch, or this one's meeting, lasts.
  std::optional<Failure> failure_{};  ///< The first one since the last epoch began.
  std::optional<Failure> cause_{};    ///< Of the job's end.
  bool finished_ = false;             ///< A process has ended in good order.
  int flight_recordings_ = 0;
};

}  // namespace weir::launcher
