#include "metrics/monitor.h"

#include <fmt/core.h>

#include <chrono>

#include "common/clock.h"
#include "common/log.h"
#include "common/thread_name.h"
#include "metrics/run_page.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr std::chrono::milliseconds kPause{100};
constexpr std::size_t kBatch = 1024;
constexpr int kMaxPort = 65535;

bool IsLoopback(const std::string& address) {
  return address.starts_with("127.") || address == "localhost" || address == "[::1]";
}

}  // namespace

Monitor::Monitor(const Settings& settings, const RunInfo& info, const Recorder& recorder,
                 const BucketNames& names, const EngineGauges& gauges)
    : info_(info),
      recorder_(recorder),
      names_(names),
      gauges_(gauges),
      aggregate_(registry_, names, settings.metrics_per_tensor),
      batch_(kBatch) {
  if (!settings.timeline_filename.empty()) {
    StartTimeline(settings.timeline_filename, settings.timeline_mark_cycles);
  }
  if (settings.metrics_port != 0) OpenExporter(settings);
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

Monitor::~Monitor() {
  exporter_.reset();
  thread_ = {};  // Stops and joins.
  StopTimeline();
}

void Monitor::OpenExporter(const Settings& settings) {
  const int port = settings.metrics_port + info_.local_rank;
  if (port > kMaxPort) {
    throw InvalidArgument(
        fmt::format("WEIR_METRICS_PORT={} is too large: local rank {} would serve "
                    "its metrics on port {}; the largest port is {}",
                    settings.metrics_port, info_.local_rank, port, kMaxPort));
  }
  try {
    exporter_ = std::make_unique<Exporter>(
        HttpServer::Options{
            .address = settings.metrics_address, .port = port, .token = settings.metrics_token},
        registry_, GaugeCollector(info_, gauges_), RunPage(settings, info_), [this] { Drain(); });
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(
        fmt::format("rank {} on {} cannot serve its metrics (WEIR_METRICS_PORT={} "
                    "+ local rank {}): {}",
                    info_.rank, info_.host, settings.metrics_port, info_.local_rank, error.what()));
  }
  if (!IsLoopback(settings.metrics_address) && settings.metrics_token.empty()) {
    LogWarning(
        "metrics are served on {}:{} to everybody who can reach it; WEIR_METRICS_TOKEN asks "
        "readers for a token",
        settings.metrics_address, port);
  }
}

void Monitor::StartTimeline(const std::string& path, bool mark_cycles) {
  const std::lock_guard lock(mutex_);
  DrainLocked();
  timeline_.reset();
  timeline_.emplace(path, info_, names_, mark_cycles);
  marks_cycles_ = mark_cycles;
}

void Monitor::StopTimeline() {
  const std::lock_guard lock(mutex_);
  DrainLocked();
  timeline_.reset();
  marks_cycles_ = false;
}

void Monitor::Drain() {
  const std::lock_guard lock(mutex_);
  DrainLocked();
}

void Monitor::DrainLocked() {
  bool any = false;
  while (true) {
    const auto result = recorder_.Read(next_, batch_);
    next_ = result.next;
    aggregate_.AddLost(result.lost);
    const auto records = std::span<const StageRecord>(batch_).first(result.count);
    for (const StageRecord& record : records) aggregate_.Add(record);
    AddToTimeline(records);
    if (result.count == 0) break;
    any = true;
  }
  if (any) aggregate_.Publish();
}

void Monitor::AddToTimeline(std::span<const StageRecord> records) {
  if (!timeline_) return;
  try {
    for (const StageRecord& record : records) timeline_->Add(record);
    timeline_->Flush(NowNs());
  } catch (const InvalidArgument& error) {
    LogError("the timeline ends here: {}", error.what());
    timeline_.reset();
    marks_cycles_ = false;
  }
}

void Monitor::Run(const std::stop_token& stop) {
  NameThread("weir-monitor");
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    DrainLocked();
    wake_.wait_for(lock, stop, kPause, [] { return false; });
  }
}

}  // namespace weir
