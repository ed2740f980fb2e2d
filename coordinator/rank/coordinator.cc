#include "coordinator/rank/coordinator.h"

#include <fmt/core.h>

#include <algorithm>
#include <future>
#include <thread>
#include <utility>

#include "common/clock.h"
#include "common/log.h"
#include "weir/error.h"

namespace weir {
namespace {

int WorkerCount(const Settings& settings) {
  return settings.pipeline == PipelineMode::kSerial ? 0 : 1;
}

int PoolThreads(const Settings& settings, int local_size) {
  if (settings.worker_threads > 0) return settings.worker_threads;
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, cores / std::max(1, local_size));
}

}  // namespace

Coordinator::Coordinator(const Settings& settings, RankEnvironment environment)
    : settings_(settings),
      environment_(std::move(environment)),
      pool_(PoolThreads(settings, environment_.local_size), "weir-pool") {
  pipeline_ = std::make_unique<Pipeline>(
      WorkerCount(settings_), environment_.recorder, &gauges_,
      Pipeline::Callbacks{
          [this](Bucket* bucket) { inbox_.Post(InboxEvent::Kind::kStaged, bucket); },
          [this](Bucket* bucket) {
            // First the event: once the handles are fulfilled the bucket may be submitted again.
            inbox_.Post(InboxEvent::Kind::kDone, bucket);
            bucket->Done();
          },
          [this](Bucket* bucket, const std::exception_ptr& error) {
            inbox_.Post({.kind = InboxEvent::Kind::kFailed, .bucket = bucket, .error = error});
          }});
  network_ = std::make_unique<NetworkThread>(NetworkThread::Shared{.settings = settings_,
                                                                   .environment = environment_,
                                                                   .ending = ending_,
                                                                   .handles = handles_,
                                                                   .inbox = inbox_,
                                                                   .waiter = waiter_,
                                                                   .gauges = gauges_,
                                                                   .pipeline = *pipeline_,
                                                                   .gpu_offers = gpu_offers_,
                                                                   .marks_cycles = marks_cycles_});
  set_changes_ = std::make_unique<SetChanges>(
      rank(), ending_, process_sets(),
      [this](Submission change) { Wait(Submit(process_sets().global(), std::move(change))); });
  OpenOutside();
}

void Coordinator::OpenOutside() {
  try {
    plan_file_ = std::make_unique<PlanFile>(rank() == 0 ? settings_.plan_filename : "");
    if (settings_.pipeline == PipelineMode::kProcess) {
      compression_process_ = std::make_unique<CompressionProcess>(pool_.threads());
    }
  } catch (...) {
    Fail(std::current_exception());  // The others are to hear why.
    Shutdown();
    throw;
  }
}

Coordinator::~Coordinator() { Shutdown(); }

Handle Coordinator::Submit(ProcessSet& set, Submission submission) {
  ending_.ThrowIfEnded();
  const auto [operation, handle] = set.operations().Submit(std::move(submission));
  Announce({.kind = InboxEvent::Kind::kSubmitted, .bucket = operation, .operation = operation});
  return handle;
}

void Coordinator::UseServers(std::vector<std::byte> message, bool asynchronous) {
  if (asynchronous) asynchronous_ = true;
  uses_servers_ = true;
  inbox_.Post(
      {.kind = InboxEvent::Kind::kServers, .message = std::move(message), .serve = asynchronous});
}

int Coordinator::Join(ProcessSet& set) {
  ending_.ThrowIfEnded();
  if (asynchronous_) {
    throw InvalidArgument(
        "Join in a job with asynchronous gradients (max_staleness): the others would wait for this "
        "rank's next step; give all ranks the same number of steps",
        {"", {rank()}, "submit"});
  }
  if (const auto group = set.joining().stepping()) {
    throw InvalidArgument(
        "Join in the middle of a step of '" + *group + "'; finish it first (EndStep and WaitStep)",
        {*group, {rank()}, "submit"});
  }
  set.joining().BeforeJoin();
  int last = -1;
  Submission submission;
  submission.request = {.kind = RequestKind::kJoin, .name = std::string(kJoinName), .slots = 0};
  submission.patient = true;
  submission.on_agreed = [&last](const Submission::Agreed& agreed) {
    last = static_cast<int>(agreed.rows.front());
  };
  const Handle handle = Submit(set, std::move(submission));
  // The other ranks may go on for as long as they like, but not wait for something for ever.
  WaitWith({.seconds = settings_.timeout_seconds,
            .setting = "WEIR_TIMEOUT_SECONDS",
            .progress_ns = [&set] { return set.last_agreed_ns(); }},
           handle);
  return last;
}

void Coordinator::Run(Bucket* bucket) {
  if (Announce({.kind = InboxEvent::Kind::kReady, .bucket = bucket})) pipeline_->Begin(bucket);
}

bool Coordinator::Announce(InboxEvent event) {
  Bucket* const bucket = event.bucket;
  event.ready_ns = NowNs();
  if (inbox_.Post(std::move(event))) return true;
  bucket->Failed(ending_.error());
  return false;
}

void Coordinator::Wait(Handle handle) {
  WaitWith({.seconds = settings_.timeout_seconds, .setting = "WEIR_TIMEOUT_SECONDS"}, handle);
}

void Coordinator::WaitForStart(Handle handle) {
  WaitWith({.seconds = settings_.start_timeout_seconds, .setting = "WEIR_START_TIMEOUT"}, handle);
}

void Coordinator::WaitWith(const Patience& patience, Handle handle) {
  const auto timeout = static_cast<std::int64_t>(patience.seconds * 1e9);
  const std::int64_t now_ns = NowNs();
  const auto now = std::chrono::steady_clock::now();
  for (std::int64_t from_ns = now_ns, seen_ns = -1; from_ns > seen_ns;) {
    const auto deadline = now + std::chrono::nanoseconds(from_ns - now_ns + timeout);
    if (handles_.Wait(handle, deadline) == HandleTable::WaitResult::kDone) return;
    seen_ns = from_ns;
    if (patience.progress_ns) from_ns = std::max(from_ns, patience.progress_ns());
  }
  InboxEvent late;
  late.kind = InboxEvent::Kind::kDeadlinePassed;
  late.text = fmt::format("{:g} s ({})", patience.seconds, patience.setting);
  if (!inbox_.Post(std::move(late))) {
    std::rethrow_exception(ending_.error());
  }
  handles_.Wait(handle, HandleTable::Deadline::max());
}

void Coordinator::WaitIfKnown(Handle handle) {
  if (handles_.IsKnown(handle)) Wait(handle);
}

void Coordinator::Fence() {
  if (ending_.forked()) return;  // The network thread exists in the parent only.
  auto fence = std::make_shared<std::promise<void>>();
  std::future<void> handled = fence->get_future();
  if (inbox_.Post({.kind = InboxEvent::Kind::kFence, .fence = std::move(fence)})) {
    handled.wait();
  } else {
    network_->AwaitEnd();  // The network thread may still be failing what it found in the inbox.
  }
}

NetworkTotals Coordinator::network_totals() {
  Fence();
  return {.sent_bytes = gauges_.sent_bytes,
          .received_bytes = gauges_.received_bytes,
          .sent_messages = gauges_.sent_messages,
          .received_messages = gauges_.received_messages,
          .negotiation_bytes = gauges_.negotiation_bytes()};
}

void Coordinator::Fail(const std::exception_ptr& error) {
  inbox_.Post({.kind = InboxEvent::Kind::kAbort, .error = error});
}

void Coordinator::AwaitAsynchronousRanks() {
  if (!asynchronous_ || ending_.forked() || ending_.ended() || ending_.shutting_down()) return;
  // Who would wait for this rank's steps hears from the servers that none will come.
  UseServers(Serialize({.kind = ControlMessage::Kind::kFinish, .group = {}}),
             /*asynchronous=*/false);
  Submission submission;
  submission.patient = true;
  submission.request = {
      .kind = RequestKind::kBarrier, .name = "weir:end of asynchronous training", .slots = 0};
  try {
    // The others may train for as long as they like. Who waits for a step of one that is stuck
    // ends the job in time.
    handles_.Wait(Submit(process_sets().global(), std::move(submission)),
                  HandleTable::Deadline::max());
  } catch (const Error& error) {
    LogDebug("nobody trains on: {}", error.what());  // The job ends in another way, or has.
  }
}

void Coordinator::WarnOfIdleServers() const {
  // Whoever leaves first ends the engine for all, in good order; a job that failed has another
  // trouble.
  if (rank() != 0 || settings_.servers == 0 || uses_servers_ || !ending_.failure().empty()) return;
  LogWarning(
      "no gradient went to the summation servers that were started (weirrun --servers {}): give "
      "route=push_pull among the compression options, or leave --servers out",
      settings_.servers);
}

void Coordinator::Shutdown() {
  AwaitAsynchronousRanks();
  if (ending_.BeginShutdown()) WarnOfIdleServers();
  inbox_.Post(InboxEvent::Kind::kShutdown, nullptr);
  network_->AwaitEnd();
}

}  // namespace weir
