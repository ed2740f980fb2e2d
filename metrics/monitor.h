#pragma once

#include <prometheus/registry.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "metrics/gauges/engine_gauges.h"
#include "metrics/http/long_poll.h"
#include "metrics/pages/events_page.h"
#include "metrics/prometheus/aggregate.h"
#include "metrics/prometheus/exporter.h"
#include "metrics/records/recorder.h"
#include "metrics/records/run_info.h"
#include "metrics/run_log/live_log.h"
#include "metrics/run_log/run_log.h"
#include "metrics/steps/step_summary.h"
#include "metrics/trace/timeline.h"
#include "weir/settings.h"

namespace weir {

/// Monitors a running rank: follows its records ten times a second on a thread of its own
/// ("weir-monitor"), and once more at each scrape. Feeds the metrics, the timeline, the run
/// log and followers of the run. The recorder holds 65536 records by default, so up to
/// 650,000 a second are counted without loss. Beyond that `weir_records_lost_total` counts
/// the records missing from everything that is made from them. Bytes and rounds come from
/// EngineGauges and are always right.
///
/// Thread-safe. Recorder, names and gauges must outlive it.
class Monitor {
 public:
  /// True if there is anything to show, or to write.
  static bool IsAskedFor(const Settings& settings);

  /// Opens the endpoint, the timeline and the run log that the settings ask for.
  /// Throws InvalidArgument when the port is in use or a file cannot be written, so
  /// that a job fails before it trains.
  Monitor(const Settings& settings, const RunInfo& info, const Recorder& recorder,
          const BucketNames& names, const EngineGauges& gauges);
  /// Reads the remaining records, unless End has, and finishes the files.
  ~Monitor();

  /// Reports the rank's end, in good order where `failure` is empty. Writes the last block of its
  /// log, and gives followers a moment to read it (LiveLog::End). Nothing is recorded any more.
  /// Called once, by the owner, just before destruction.
  void End(const std::string& failure);

  /// Replaces a timeline that is being written. Throws InvalidArgument when it cannot be written.
  void StartTimeline(const std::string& path, bool mark_cycles);
  void StopTimeline();
  /// True if the engine should record its negotiation rounds (Stage::kRound). Never blocks.
  bool marks_cycles() const { return marks_cycles_.load(std::memory_order_relaxed); }

  /// Reads all records that exist now. May wait for the disk while a timeline is written, but not
  /// for the threads that exchange.
  void Drain();
  /// Port of the endpoint; 0: none.
  int port() const { return exporter_ == nullptr ? 0 : exporter_->port(); }

 private:
  /// Data for readers that follow the run over HTTP.
  struct Followed {
    Followed(LogBlocks made, const RunInfo& info, const Recorder& recorder,
             const BucketNames& names)
        : blocks(std::move(made)),
          log(info.rank, JobId(info), poll),
          events(JobId(info), recorder, names, poll) {}
    LogBlocks blocks;
    LongPoll poll;  ///< Shared by both, so that there is always a thread for /metrics.
    LiveLog log;
    EventsPage events;
  };
  void Run(const std::stop_token& stop);
  void DrainLocked();
  void Add(std::span<const StageRecord> records);
  void AddToTimeline(std::span<const StageRecord> records);
  void AddSample(std::int64_t now_ns);
  void AddStalls(std::int64_t now_ns);
  void AddPlans();
  void FlushRunLog(bool everything);
  /// Returns the pages of the endpoint beside the metrics, by path.
  std::map<std::string, HttpServer::Handler> Pages(const Settings& settings);
  void OpenExporter(const Settings& settings);

  const RunInfo info_;
  const Recorder& recorder_;
  const BucketNames& names_;
  const EngineGauges& gauges_;
  prometheus::Registry registry_;

  std::mutex mutex_;  // Guards all members below.
  Aggregate aggregate_;
  StepSummaries steps_;
  std::optional<Timeline> timeline_;
  std::optional<RunLog> run_log_;
  std::unique_ptr<Followed> followed_;  ///< Null without an endpoint.
  std::int64_t sampled_ns_ = 0;
  Stalls stalls_;            ///< As the logs have them.
  std::uint64_t plans_ = 0;  ///< Number of plans that the logs have.
  std::vector<StageRecord> batch_;
  std::uint64_t next_ = 0;
  bool has_ended_ = false;  ///< The logs have got their last block.

  std::atomic<bool> marks_cycles_{false};
  std::condition_variable_any wake_;
  std::unique_ptr<Exporter> exporter_;
  std::jthread thread_;
};

}  // namespace weir
