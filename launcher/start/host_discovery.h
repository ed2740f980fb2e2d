#pragma once

#include <poll.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/hosts.h"
#include "launcher/options/options.h"
#include "launcher/start/file_limit.h"
#include "launcher/start/starter.h"

namespace weir::launcher {

/// Runs the program that prints an elastic job's hosts, once a second, but never twice at a time. A
/// run that fails is reported on stderr and changes nothing. Not thread-safe.
class HostDiscovery {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `slots`: of a host that is named without.
  HostDiscovery(std::string script, int slots, const FileLimit& limit)
      : script_(std::move(script)), slots_(slots), limit_(limit) {}

  /// Time limits of AwaitSlots.
  struct Patience {
    std::chrono::milliseconds start;  ///< Of a run, beside that which every run has.
    std::chrono::milliseconds hosts;  ///< Of all.
  };
  /// Runs it until it names hosts with `slots` slots together, and waits for that, which it tells.
  /// Throws InvalidArgument when a run fails, and when there are too few in the end. Before
  /// the program has other children.
  std::vector<Host> AwaitSlots(int slots, Patience patience);

  /// Begins a run that is due, and ends one that takes too long or writes too much.
  void Tick(Time now);
  /// When the next run begins, or the one under way has taken too long.
  Time due() const;
  pollfd output_poll() const;
  /// Takes what the program has written. Call whenever that poll is ready.
  void Read();
  /// Takes the end of the process `pid`. Returns the hosts if it was a run, and has found some.
  std::optional<std::vector<Host>> OnEnded(pid_t pid, int wait_status);

 private:
  struct Limit {
    std::chrono::milliseconds time;
    std::string option{};  ///< That sets it.
  };

  /// Throws InvalidArgument if the program cannot be run.
  void Begin(Time now, Limit limit);
  /// Ends a run that goes beyond a limit.
  void EndIfTooLong(Time now);
  /// Waits for the end of a run. Returns its wait status.
  int AwaitEnd();
  /// Writes it to stderr, once.
  void Report(const std::string& trouble);
  /// Throws InvalidArgument.
  std::vector<Host> Result(int wait_status);

  const std::string script_;
  const int slots_;
  const FileLimit& limit_;
  std::optional<Starter> run_;
  std::string output_;
  Limit run_limit_{};
  Time run_due_{};
  std::string ended_{};  ///< Why weirrun has ended the run; empty: it has not.
  Time next_{};
  std::string reported_;
  bool knows_hosts_ = true;
};

/// Runs the script of an elastic job, if it has one, until it has found enough hosts for the job to
/// start, and makes these the job's. Throws InvalidArgument. Before weirrun has other children.
void FindFirstHosts(Options& options);

}  // namespace weir::launcher
