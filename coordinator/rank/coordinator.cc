#include "coordinator/rank/coordinator.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/threads/thread_name.h"
#include "coordinator/work/hosts.h"
#include "coordinator/work/operation_numbers.h"
#include "ops/transport/subset_transport.h"
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

Coordinator::Coordinator(const Settings& settings, Environment environment)
    : settings_(settings),
      environment_(std::move(environment)),
      pool_(PoolThreads(settings, environment_.local_size), "weir-pool") {
  std::promise<void> connected;
  std::future<void> is_connected = connected.get_future();
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
  thread_ = std::jthread(
      [this, promise = std::move(connected)]() mutable { ThreadMain(std::move(promise)); });
  is_connected.get();
}

Coordinator::~Coordinator() {
  Shutdown();
  if (thread_.joinable()) thread_.join();
  // Not before: until the network thread has ended, another rank's end must reach it.
  if (environment_.membership != nullptr) environment_.membership->Listen(nullptr);
  pipeline_->Stop();
}

void Coordinator::ThreadMain(std::promise<void> connected) {
  NameThread("weir-network");
  GpuScope::OwnThisThread();
  try {
    ConnectNetwork();
  } catch (...) {
    AbandonStart(std::current_exception());
    connected.set_exception(std::current_exception());
    return;
  }
  // Here and not by the thread that makes the engine: that one may come after Leave.
  if (environment_.membership != nullptr) {
    environment_.membership->Joined();
    environment_.membership->Listen([this](const MembershipEvent& event) {
      inbox_.Post({.kind = InboxEvent::Kind::kMembership, .membership = event});
    });
  }
  connected.set_value();
  bool failed = false;
  try {
    Loop();
    looping_ = false;
    Close();
  } catch (...) {
    failed = true;
    looping_ = false;
    Collapse(AwaitVerdict(std::current_exception()));
  }
  CloseInbox();
  for (ProcessSet* set : sets_->own()) set->Retire();
  if (!failed) server_links_->Cancel();
  // What comes from now on is the process's: it asks whether it may finalise MPI.
  if (environment_.membership != nullptr) environment_.membership->Listen(nullptr);
  // Before Close, so that a network that has failed is not asked for anything any more.
  if (environment_.disconnect) environment_.disconnect(failed);
  transport_->Close();  // The object stays: a program may still be making a bucket with it.
  left_.set_value();
}

Transport& Coordinator::ConnectRanks() {
  transport_ = environment_.connect();
  wakes_ = transport_->SetWake([this] { waiter_.Wake(); });
  const int ranks = transport_->size() - settings_.servers;
  if (transport_->rank() >= ranks) {
    throw InvalidArgument(fmt::format(
        "process {} of {} is one of {} summation servers (WEIR_SERVERS) and can have no engine; "
        "start the job with weirrun --servers, which runs weir-server there",
        transport_->rank(), transport_->size(), settings_.servers));
  }
  gauges_.last_heard.SetPeers(transport_->size());
  meter_ = std::make_unique<MeteredTransport>(
      *transport_,
      LinksOf(environment_.hosts, transport_->rank(), transport_->size(), environment_.local_size),
      MeteredTransport::Use{.bytes = &gauges_.traffic_of(TrafficOp::kOther)}, &gauges_.last_heard);
  server_links_ =
      std::make_unique<ServerLinks>(*meter_, settings_.servers, [this] { waiter_.Wake(); });
  if (settings_.servers == 0) return *meter_;
  std::vector<int> members(static_cast<std::size_t>(ranks));
  std::iota(members.begin(), members.end(), 0);
  ranks_transport_ = std::make_unique<SubsetTransport>(*meter_, std::move(members));
  return *ranks_transport_;
}

void Coordinator::ConnectNetwork() {
  Transport& ranks = ConnectRanks();
  rank_ = ranks.rank();
  Log::SetRankOfThread(rank_);
  size_ = ranks.size();
  sets_ =
      std::make_unique<ProcessSets>(ranks, ProcessSet::Shared{.settings = settings_,
                                                              .live = live_,
                                                              .pipeline = *pipeline_,
                                                              .handles = handles_,
                                                              .names = *environment_.names,
                                                              .gauges = gauges_,
                                                              .meter = *meter_,
                                                              .speed = speed_,
                                                              .recorder = *environment_.recorder,
                                                              .marks_cycles = marks_cycles_,
                                                              .gpu_offers = gpu_offers_});
  clocks_ = std::make_unique<ClockExchange>(ranks, kClockOperation);
  meter_->Begin(negotiation());
  clocks_->Start();
  if (rank_ == 0) clock_measured_.set_value(clocks_->job_clock());
  set_changes_ = std::make_unique<SetChanges>(rank_, ending_, *sets_, [this](Submission change) {
    Wait(Submit(sets_->global(), std::move(change)));
  });
  report_ = std::make_unique<RankReport>(live_, *sets_);
  stalls_ = std::make_unique<StallInspector>(settings_, rank_, size_, environment_.membership,
                                             [this](int id) { return sets_->RanksOf(id); });
}

std::optional<JobClock> Coordinator::AwaitClock(std::chrono::milliseconds patience) const {
  if (job_clock_.wait_for(patience) != std::future_status::ready) return std::nullopt;
  return job_clock_.get();
}

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
        {"", {rank_}, "submit"});
  }
  if (const auto group = set.joining().stepping()) {
    throw InvalidArgument(
        "Join in the middle of a step of '" + *group + "'; finish it first (EndStep and WaitStep)",
        {*group, {rank_}, "submit"});
  }
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
    has_left_.wait();  // The network thread may still be failing what it found in the inbox.
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
    handles_.Wait(Submit(sets_->global(), std::move(submission)), HandleTable::Deadline::max());
  } catch (const Error& error) {
    LogDebug("nobody trains on: {}", error.what());  // The job ends in another way, or has.
  }
}

void Coordinator::WarnOfIdleServers() const {
  // Whoever leaves first ends the engine for all, in good order; a job that failed has another
  // trouble.
  if (rank_ != 0 || settings_.servers == 0 || uses_servers_ || !ending_.failure().empty()) return;
  LogWarning(
      "no gradient went to the summation servers that were started (weirrun --servers {}): give "
      "route=push_pull among the compression options, or leave --servers out",
      settings_.servers);
}

void Coordinator::Shutdown() {
  AwaitAsynchronousRanks();
  if (ending_.BeginShutdown()) WarnOfIdleServers();
  inbox_.Post(InboxEvent::Kind::kShutdown, nullptr);
  has_left_.wait();
}

}  // namespace weir
