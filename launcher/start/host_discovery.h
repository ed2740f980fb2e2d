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

  /// Runs it until it names hosts with `slots` slots together, and waits for that. Throws
  /// InvalidArgument when the first run fails, and when there are too few after `timeout`. Before
  /// the program has other children.
  std::vector<Host> AwaitSlots(int slots, std::chrono::milliseconds timeout);

  /// Begins a run that is due, and ends one that takes too long.
  void Tick(Time now);
  /// When the next run begins, or the one under way has taken too long.
  Time due() const;
  pollfd output_poll() const;
  /// Takes what the program has written. Call whenever that poll is ready.
  void Read();
  /// Takes the end of the process `pid`. Returns the hosts if it was a run, and has found some.
  std::optional<std::vector<Host>> OnEnded(pid_t pid, int wait_status);

 private:
  /// Writes it to stderr, once.
  void Report(const std::string& trouble);
  /// Throws InvalidArgument.
  std::vector<Host> Result(int wait_status);

  const std::string script_;
  const int slots_;
  const FileLimit& limit_;
  std::optional<Starter> run_;
  std::vector<std::string> lines_;
  Time began_{};
  Time next_{};
  std::string reported_;
};

/// Runs the script of an elastic job, if it has one, until it has found enough hosts for the job to
/// start, and makes these the job's. Throws InvalidArgument. Before weirrun has other children.
void FindFirstHosts(Options& options);

}  // namespace weir::launcher
