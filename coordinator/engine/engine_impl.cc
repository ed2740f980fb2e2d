#include "coordinator/engine/engine_impl.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>

#include "common/log.h"
#include "common/settings/flight_filename.h"
#include "compression/make_compressor.h"
#include "compression/options/registry.h"
#include "compression/options/standard_options.h"
#include "compression/options/tensor_options.h"
#include "coordinator/groups/gradient_group.h"
#include "metrics/monitor.h"
#include "metrics/steps/totals_reporter.h"
#include "weir/error.h"

namespace weir {
namespace {

/// Checks the meaning of keys together.
void CheckTogether(CompressionOptions given) {
  // An optimizer may add its own coefficient, where one is needed.
  const auto momentum = given.find("momentum");
  if (momentum != given.end() && momentum->second == "nesterov") {
    given.try_emplace("momentum_mu", "0.9");
  }
  const ParsedOptions options = ParseOptions(given);
  ScheduleOf(options);
  MakeCompressor(options, {"", Shape{1, 1}});
}

void CheckCompression(const Settings& settings) {
  try {
    const TensorOptions given(settings.compression);
    CheckTogether(given.base());
    given.CheckPatterns(CheckTogether);
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(fmt::format("WEIR_COMPRESSION: {}", error.what()));
  }
}

}  // namespace

EngineImpl::EngineImpl(const Settings& settings, EngineEnvironment environment)
    : local_rank_(environment.local_rank),
      local_size_(environment.local_size),
      epoch_(environment.epoch),
      host_(environment.host),
      hosts_(environment.hosts),
      launched_(environment.launched || !environment.hosts.empty()),
      parts_(std::make_unique<Parts>()) {
  settings.Check();
  CheckCompression(settings);
  parts_->membership = std::move(environment.membership);
  parts_->coordinator = std::make_unique<Coordinator>(
      settings, RankEnvironment{.connect = std::move(environment.connect),
                                .disconnect = std::move(environment.disconnect),
                                .membership = parts_->membership.get(),
                                .recorder = &parts_->recorder,
                                .names = &parts_->names,
                                .local_size = local_size_,
                                .hosts = hosts_,
                                .speed_bounds = environment.speed_bounds,
                                .record_flight = FlightWriter(settings)});
  rank_ = parts_->coordinator->rank();
  size_ = parts_->coordinator->size();
  Log::Configure(settings, rank_, host_);
  if (rank_ == 0) LogInfo("network: {}", parts_->coordinator->network_name());
  PrepareFlight(settings);
  try {
    if (Monitor::IsAskedFor(settings)) MakeMonitor(settings);
  } catch (...) {
    parts_->coordinator->Fail(std::current_exception());  // The other ranks learn why.
    throw;
  }
  ReportTotals(settings);
  if (!settings.hierarchical_allreduce && !settings.hierarchical_allgather) return;
  try {
    GoByHosts(settings);
  } catch (const std::exception& error) {
    if (parts_->monitor) parts_->monitor->End(error.what());
    throw;
  }
}

void EngineImpl::ReportTotals(const Settings& settings) {
  if (!launched_ || !settings.summary || parts_->membership == nullptr) return;
  parts_->totals = std::make_unique<TotalsReporter>(
      parts_->recorder, parts_->names, parts_->coordinator->gauges(),
      [parts = parts_.get()](const std::string& text) { parts->membership->SendTotals(text); },
      settings.batch_size);
}

void EngineImpl::PrepareFlight(const Settings& settings) const {
  if (!RecordsFlights(settings)) return;
  const std::string trouble = PrepareFlightRecording(settings, rank_);
  // One warning per host: its ranks share the folder.
  if (trouble.empty() || local_rank_ != 0) return;
  LogWarning(
      "no flight recording can be kept if this job fails: {}; --flight-recording names "
      "another file, or none",
      trouble);
}

bool EngineImpl::RecordsFlights(const Settings& settings) const {
  // If nobody has started several ranks, the person who runs the program sees its one error.
  return launched_ && KeepsFlightRecordings(settings.flight_filename);
}

std::function<void(int, int, const FlightReport&)> EngineImpl::FlightWriter(
    const Settings& settings) {
  if (!RecordsFlights(settings)) return {};
  return [this, settings, parts = parts_.get()](int rank, int size, const FlightReport& report) {
    WriteFlightRecording(settings, RunInfo{rank, size, local_rank_, host_, hosts_, report.clock},
                         parts->recorder, parts->names, report);
  };
}

void EngineImpl::MakeMonitor(const Settings& settings) {
  // Some round trips take almost no time; a rank that hangs is not waited for.
  constexpr std::chrono::seconds kPatience{5};
  const RunInfo info{.rank = rank_,
                     .size = size_,
                     .local_rank = local_rank_,
                     .host = host_,
                     .hosts = hosts_,
                     .clock = parts_->coordinator->AwaitClock(kPatience),
                     .network = parts_->coordinator->network_name()};
  parts_->monitor = std::make_unique<Monitor>(settings, info, parts_->recorder, parts_->names,
                                              parts_->coordinator->gauges());
  parts_->coordinator->MarkCycles(parts_->monitor->marks_cycles());
}

void EngineImpl::StartTimeline(const std::string& path, bool mark_cycles) {
  Coordinator& running = coordinator();
  std::lock_guard lock(parts_->monitor_mutex);
  if (parts_->monitor) {
    parts_->monitor->StartTimeline(path, mark_cycles);
  } else {
    Settings settings = running.settings();
    settings.timeline_filename = path;
    settings.timeline_mark_cycles = mark_cycles;
    MakeMonitor(settings);
  }
  running.MarkCycles(mark_cycles);
}

void EngineImpl::StopTimeline() {
  Coordinator& running = coordinator();
  std::lock_guard lock(parts_->monitor_mutex);
  running.MarkCycles(false);
  if (parts_->monitor) parts_->monitor->StopTimeline();
}

EngineImpl::~EngineImpl() {
  // The threads exist in the parent only; joining them here would wait for ever.
  if (parts_->coordinator->ending().forked()) {
    static_cast<void>(parts_.release());
  } else if (parts_->monitor) {
    parts_->coordinator->Shutdown();  // Only now it is known how this ends.
    parts_->monitor->End(parts_->coordinator->ending().failure());
  }
}

Coordinator& EngineImpl::coordinator() const {
  parts_->coordinator->ending().ThrowIfForked();
  return *parts_->coordinator;
}

int EngineImpl::AddProcessSet(std::span<const int> ranks) {
  std::vector<int> sorted(ranks.begin(), ranks.end());
  std::ranges::sort(sorted);
  const auto refuse = [&](const std::string& why) {
    throw InvalidArgument("a process set " + why, {"", {rank_}, "submit"});
  };
  if (sorted.empty()) refuse("needs at least one rank");
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
    refuse("has each rank once; rank " + std::to_string(*twice) + " is there twice");
  }
  for (const int rank : sorted) {
    if (rank >= 0 && rank < size_) continue;
    refuse("with rank " + std::to_string(rank) + " is impossible in a job of " +
           std::to_string(size_) + " ranks (0 to " + std::to_string(size_ - 1) + ")");
  }
  return coordinator().set_changes().Add(std::move(sorted));
}

std::unique_ptr<GradientGroup> EngineImpl::Register(GradientGroupSpec spec) {
  auto group = std::make_unique<GradientGroupImpl>(coordinator(), std::move(spec));
  if (group->goes_by_hosts()) {
    ProcessSet& set = group->process_set();
    group->SetHosts(set.network().GridOf(AskForHosts(set, "weir:hosts of " + group->name())));
  }
  return group;
}

bool EngineImpl::Poll(Handle handle) { return coordinator().handles().Poll(handle); }
void EngineImpl::Wait(Handle handle) { coordinator().Wait(handle); }
bool EngineImpl::WaitFor(Handle handle, std::chrono::nanoseconds most) {
  const auto deadline = std::chrono::steady_clock::now() + most;
  return coordinator().handles().Wait(handle, deadline) == HandleTable::WaitResult::kDone;
}

void EngineImpl::Abort(const std::string& reason) {
  coordinator().Fail(std::make_exception_ptr(ShutDown(reason, {"", {rank_}, "abort"})));
}

void EngineImpl::Shutdown() {
  coordinator().Shutdown();
  if (parts_->totals) parts_->totals->Report();
}

}  // namespace weir
