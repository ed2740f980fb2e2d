#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/supervision/supervision.h"
#include "launcher/hosts/hosts.h"
#include "launcher/job/start_trouble.h"

namespace weir::launcher {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

/// Time limits for the phases of a job's start and end.
struct JobPolicy {
  /// For every supervisor to report, and then for every engine to come once one waits.
  std::chrono::milliseconds start_timeout{30000};
  /// For a rank to say nothing while it is alive; 0: without limit.
  std::chrono::milliseconds heartbeat_timeout{60000};
  std::chrono::milliseconds grace{3000};       ///< From a failure to SIGTERM; after ^C to SIGKILL.
  std::chrono::milliseconds kill_after{1000};  ///< From SIGTERM to SIGKILL, then to giving up.
  /// Time that an exit with code 0 may stand before it counts as a loss to ranks that go on or wait
  /// for it: ranks that end together without saying so are no failure.
  std::chrono::milliseconds settle{1000};
};

/// Describes how long a rank has been silent by the heartbeat of its supervisor, for people:
/// "silent for 60 s: it is stopped by a signal"; nothing where that is allowed.
std::optional<std::string> Silence(const supervision::Message& heartbeat,
                                   std::chrono::milliseconds timeout);

/// What becomes of a job: takes what happens to its processes and decides which messages to send,
/// when to end whom, and weirrun's final message and exit code. Processes are numbered in the order
/// in which they were started. Does no input or output and takes the time as a value, so tests
/// drive it by hand. Not thread-safe.
class Job {
 public:
  /// Hands a message to the supervisor of a process.
  using Send = std::function<void(int process, const supervision::Message&)>;

  virtual ~Job() = default;

  /// Handles a message from the supervisor of `process`, kHello included.
  virtual void OnMessage(int process, const supervision::Message& message, Time now) = 0;
  /// The supervisor of `process` has ended or is silent: nobody knows how its program ended.
  virtual void OnSupervisorLost(int process, const std::string& how, Time now) = 0;
  /// Notes why a host or a process does not start. What follows comes later, by the end of who
  /// starts them or the start's deadline.
  virtual void OnStartTrouble(const StartTrouble& trouble) = 0;
  /// The process `name` that has started `processes` has ended; `advice` for when it has not
  /// started all.
  virtual void OnStarterEnded(const std::string& name, const std::vector<int>& processes,
                              const std::string& advice, int wait_status, Time now) = 0;
  /// Ends the job because weirrun itself cannot go on.
  virtual void OnLauncherFailed(const std::string& how, Time now) = 0;
  /// Handles SIGINT or SIGTERM to weirrun. The second one leaves no grace.
  virtual void OnInterrupt(int signal, Time now) = 0;
  /// Handles SIGUSR1 to weirrun: asks the engines of all ranks that have one for a flight
  /// recording. Returns these ranks as text for people; "" when there is none.
  virtual std::string RecordFlights() = 0;
  /// Takes the hosts that the job may use from now on. A job whose ranks are fixed keeps its own.
  virtual void OnHosts(const std::vector<Host>& hosts, Time now) {
    static_cast<void>(hosts);
    static_cast<void>(now);
  }
  /// Does everything that is due. Call at `deadline()`, or at any time.
  virtual void Tick(Time now) = 0;

  virtual std::optional<Time> deadline() const = 0;
  /// True if a failure or an interrupt has begun to end the job.
  virtual bool ending() const = 0;
  /// True if the last process has ended.
  virtual bool over() const = 0;
  virtual int exit_code() const = 0;
  /// Returns one sentence that says why the job failed; empty when it did not.
  virtual std::string verdict() const = 0;
  /// Returns the last rank of each process, -1 where it has had none; empty where each has that of
  /// its own number.
  virtual std::vector<int> ranks() const { return {}; }
};

}  // namespace weir::launcher
