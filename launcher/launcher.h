#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/summary/job_totals.h"
#include "common/summary/rank_places.h"
#include "common/supervision/doorkeeper.h"
#include "common/supervision/message_socket.h"
#include "common/unique_fd.h"
#include "launcher/job/job.h"
#include "launcher/options/options.h"
#include "launcher/output/output_collector.h"
#include "launcher/start/file_limit.h"
#include "launcher/start/host_discovery.h"
#include "launcher/start/starter.h"
#include "launcher/start/starters.h"
#include "launcher/summary/summary_file.h"
#include "weir/settings.h"

namespace weir::launcher {

/// Starts a job and stays with it to its end: moves messages between the supervisors, the
/// terminal's signals, what starts the ranks and `Job`, which decides. One loop on the main thread;
/// the ranks' output has a thread of its own.
class Launcher {
 public:
  /// Starts the ranks, in the environment that PrepareEnvironment made. Throws InvalidArgument when
  /// the job cannot be started.
  Launcher(const Options& options, const Settings& settings);

  /// Returns weirrun's exit code: 0, that of the first rank that failed, 128 + a signal's number,
  /// or 1 when weirrun itself failed.
  int Run();

 private:
  struct Peer {
    supervision::MessageSocket socket;
    Time last_heard;
  };

  void Prepare(const Settings& settings);
  void Wait();
  int Timeout() const;
  void OnTime(Time now);
  void OnSignals();
  void OnRecordFlights();
  void MakeJob();
  void Start(std::vector<Starter::Spec> specs);
  /// Starts further processes of an elastic job.
  void StartMore(const std::string& host, int count);
  void OnOutputOf(Starter& start);
  void OnStarterEnded(Starter& start, int wait_status);
  bool StartersHaveEnded() const;
  void OnNewConnections();
  void OnAcceptFailed(int error);
  void Welcome(supervision::Doorkeeper::Guest guest);
  void OnPeer(int rank);
  void OnMessage(int rank, const supervision::Message& message);
  /// Writes the summary of the ranks' steps, for people and to the file that was asked for. False:
  /// the file could not be written, which was reported.
  [[nodiscard]] bool SumUp();
  void Send(int rank, const supervision::Message& message);
  void FinishRanks(Time now);
  bool Done() const;

  Options options_;
  RankPlaces places_;
  const Settings settings_;
  Contact contact_;
  supervision::Doorkeeper door_;
  const std::string flight_filename_;
  FileLimit file_limit_;
  UniqueFd listener_;
  UniqueFd signals_;
  std::deque<Starter> starters_;             // What brings the supervisors to their hosts.
  std::deque<std::unique_ptr<Peer>> peers_;  // By rank; null before and after.
  int awaited_ = 0;  // Connections of supervisors still to come: two per rank.
  std::unique_ptr<OutputCollector> output_;
  std::unique_ptr<Job> job_;
  std::optional<HostDiscovery> discovery_;
  JobTotals totals_;
  std::optional<SummaryFile> summary_file_;
  Time next_heartbeat_;
  std::optional<Time> finishing_until_;  // Set once all ranks have ended.
};

}  // namespace weir::launcher
