#include "metrics/monitor.h"

#include <fmt/core.h>

#include <chrono>
#include <map>
#include <utility>

#include "common/clock.h"
#include "common/log.h"
#include "common/threads/thread_name.h"
#include "metrics/gauges/stalls.h"
#include "metrics/pages/home_page.h"
#include "metrics/pages/run_page.h"
#include "metrics/pages/targets_page.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr std::chrono::milliseconds kPause{100};
constexpr std::int64_t kSampleEveryNs = 1'000'000'000;
constexpr std::int64_t kLivePauseNs = 200'000'000;
constexpr std::size_t kBatch = 1024;
constexpr int kMaxPort = 65535;

bool IsLoopback(const std::string& address) {
  return address.starts_with("127.") || address == "localhost" || address == "[::1]";
}

HttpResponse NotRankZero() {
  return {.status = 404, .body = "rank 0 serves this page for all ranks\n"};
}

HttpResponse Json(std::string body) {
  return {.content_type = "application/json", .body = std::move(body)};
}

HttpResponse TargetsResponse(const std::vector<Target>& targets, const RunInfo& info) {
  if (info.rank != 0) return NotRankZero();
  if (!targets.empty()) return Json(TargetsPage(targets));
  return {.status = 503, .body = "the hosts of this job are not known: start it with weirrun\n"};
}

}  // namespace

bool Monitor::IsAskedFor(const Settings& settings) {
  return settings.metrics_port != 0 || !settings.timeline_filename.empty() ||
         !settings.record_filename.empty();
}

Monitor::Monitor(const Settings& settings, const RunInfo& info, const Recorder& recorder,
                 const BucketNames& names, const EngineGauges& gauges)
    : info_(info),
      recorder_(recorder),
      names_(names),
      gauges_(gauges),
      aggregate_(registry_, names, settings.metrics_per_tensor),
      steps_(names),
      batch_(kBatch) {
  if (!settings.timeline_filename.empty()) {
    StartTimeline(settings.timeline_filename, settings.timeline_mark_cycles);
  }
  if (!settings.record_filename.empty()) {
    run_log_.emplace(settings.record_filename, info_, names_, RunPage(settings, info_));
  }
  if (settings.metrics_port != 0) OpenExporter(settings);
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void Monitor::End(const std::string& failure) {
  thread_ = {};  // Stops and joins.
  const std::int64_t now_ns = NowNs();
  std::vector<LogBlock> last;
  {
    const std::lock_guard lock(mutex_);
    DrainLocked();
    has_ended_ = true;
    if (run_log_) run_log_->AddEnd(now_ns, failure);
    FlushRunLog(true);
    if (followed_) {
      followed_->blocks.AddEnd(now_ns, failure);
      last = followed_->blocks.Take(now_ns, true);
    }
  }
  // Without the lock: scrapes go on.
  if (followed_ && !followed_->log.End(std::move(last)))
    LogInfo("a follower of this rank may have missed its end");
}

Monitor::~Monitor() {
  if (followed_) followed_->poll.Close();
  exporter_.reset();
  thread_ = {};  // Stops and joins.
  StopTimeline();
  FlushRunLog(true);
}

std::map<std::string, HttpServer::Handler> Monitor::Pages(const Settings& settings) {
  const auto unchanging = [](HttpResponse response) {
    return [response = std::move(response)](const std::string&) { return response; };
  };
  const std::vector<Target> targets = Targets(settings, info_);
  return {{"/", unchanging({.content_type = "text/html; charset=utf-8",
                            .body = HomePage(info_, targets)})},
          {"/run", unchanging(Json(RunPage(settings, info_)))},
          {"/targets", unchanging(TargetsResponse(targets, info_))},
          {"/stalls",
           [this](const std::string&) {
             return info_.rank == 0 ? Json(StallsPage(gauges_.stalls(), NowNs()) + "\n")
                                    : NotRankZero();
           }},
          {"/plan",
           [this](const std::string&) {
             return HttpResponse{.content_type = "text/plain; charset=utf-8",
                                 .body = gauges_.plans.Text()};
           }},
          {"/events",
           [this](const std::string& query) {
             return HttpResponse{.content_type = "application/x-ndjson",
                                 .body = followed_->events.Answer(query)};
           }},
          {"/log", [this](const std::string& query) {
             return HttpResponse{.content_type = "application/octet-stream",
                                 .body = followed_->log.Answer(query)};
           }}};
}

void Monitor::OpenExporter(const Settings& settings) {
  if (settings.metrics_certificate.empty() != settings.metrics_key.empty()) {
    throw InvalidArgument(
        "only one of WEIR_METRICS_CERTIFICATE and WEIR_METRICS_KEY is set; TLS needs both");
  }
  const int port = settings.metrics_port + info_.local_rank;
  if (port > kMaxPort) {
    throw InvalidArgument(
        fmt::format("WEIR_METRICS_PORT={} is too large: local rank {} would serve "
                    "its metrics on port {}; the largest port is {}",
                    settings.metrics_port, info_.local_rank, port, kMaxPort));
  }
  followed_ = std::make_unique<Followed>(
      LogBlocks(info_, names_, RunPage(settings, info_), {.pause_ns = kLivePauseNs}), info_,
      recorder_, names_);
  try {
    exporter_ = std::make_unique<Exporter>(
        HttpServer::Options{.address = settings.metrics_address,
                            .port = port,
                            .token = settings.metrics_token,
                            .certificate = settings.metrics_certificate,
                            .key = settings.metrics_key},
        registry_, GaugeCollector(info_, gauges_), Pages(settings), [this] { Drain(); });
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(
        fmt::format("rank {} on {} cannot serve its metrics (WEIR_METRICS_PORT={} "
                    "+ local rank {}): {}",
                    info_.rank, info_.host, settings.metrics_port, info_.local_rank, error.what()));
  }
  if (!IsLoopback(settings.metrics_address) && settings.metrics_token.empty()) {
    LogWarning(
        "metrics are served on {}:{} to everybody who can reach it; set WEIR_METRICS_TOKEN to ask "
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
  if (has_ended_) return;
  bool any = false;
  while (true) {
    const auto result = recorder_.Read(next_, batch_);
    next_ = result.next;
    aggregate_.AddLost(result.lost);
    const auto records = std::span<const StageRecord>(batch_).first(result.count);
    if (run_log_) run_log_->AddLost(result.lost);
    if (followed_) followed_->blocks.AddLost(result.lost);
    Add(records);
    AddToTimeline(records);
    if (result.count == 0) break;
    any = true;
  }
  if (any) aggregate_.Publish();
  const std::int64_t now_ns = NowNs();
  AddSample(now_ns);
  AddStalls(now_ns);
  AddPlans();
  FlushRunLog(false);
  if (!followed_) return;
  followed_->log.Add(followed_->blocks.Take(now_ns));
  if (any) followed_->poll.Wake();
}

void Monitor::Add(std::span<const StageRecord> records) {
  for (const StageRecord& record : records) {
    const std::optional<StepSummary> step = steps_.Add(record);
    aggregate_.Add(record);
    if (step) aggregate_.Add(*step);
    if (run_log_) {
      run_log_->Add(record);
      if (step) run_log_->Add(*step);
    }
    if (followed_) {
      followed_->blocks.Add(record);
      if (step) followed_->blocks.Add(*step);
    }
  }
}

void Monitor::AddSample(std::int64_t now_ns) {
  if (now_ns - sampled_ns_ < kSampleEveryNs) return;
  sampled_ns_ = now_ns;
  const EngineSample sample = Sample(gauges_, now_ns);
  if (run_log_) run_log_->Add(sample);
  if (followed_) followed_->blocks.Add(sample);
}

void Monitor::AddStalls(std::int64_t now_ns) {
  Stalls stalls = gauges_.stalls();
  if (stalls == stalls_) return;
  stalls_ = std::move(stalls);
  const std::string page = StallsPage(stalls_, now_ns);
  if (run_log_) run_log_->AddStalls(page);
  if (followed_) followed_->blocks.AddStalls(page);
}

void Monitor::AddPlans() {
  for (const auto& plan : gauges_.plans.After(plans_)) {
    const std::string block = PlanBlock(*plan);
    if (run_log_) run_log_->AddPlan(block);
    if (followed_) followed_->blocks.AddPlan(block);
  }
}

void Monitor::FlushRunLog(bool everything) {
  if (!run_log_) return;
  try {
    run_log_->Flush(NowNs(), everything);
  } catch (const InvalidArgument& error) {
    LogError("the run log ends here: {}", error.what());
    run_log_.reset();
  }
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
