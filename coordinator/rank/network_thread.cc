#include "coordinator/rank/network_thread.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "common/clock.h"
#include "common/gpu/gpu.h"
#include "common/log.h"
#include "common/supervision/place.h"
#include "common/threads/thread_name.h"
#include "metrics/records/last_stages.h"
#include "ops/membership/abort_text.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr std::int64_t kLongestSleepNs = 20'000'000;
// A dying process may still write its core file.
constexpr std::int64_t kVerdictNs = 2'000'000'000;

}  // namespace

NetworkThread::NetworkThread(const Shared& shared)
    : shared_(shared), membership_(shared.environment.membership), live_(shared.gauges) {
  std::promise<void> connected;
  std::future<void> is_connected = connected.get_future();
  thread_ =
      std::jthread([this, promise = std::move(connected)]() mutable { Main(std::move(promise)); });
  is_connected.get();
}

NetworkThread::~NetworkThread() {
  shared_.inbox.Post({.kind = InboxEvent::Kind::kAbort,
                      .error = std::make_exception_ptr(ShutDown("the engine could not be made"))});
}

void NetworkThread::Main(std::promise<void> connected) {
  NameThread("weir-network");
  GpuScope::OwnThisThread();
  try {
    Connect();
  } catch (...) {
    AbandonStart(std::current_exception());
    connected.set_exception(std::current_exception());
    return;
  }
  // Here and not by the thread that makes the engine: that one may come after Leave.
  if (membership_ != nullptr) {
    membership_->Joined();
    membership_->Listen([this](const MembershipEvent& event) {
      shared_.inbox.Post({.kind = InboxEvent::Kind::kMembership, .membership = event});
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
  if (!failed) connection_->server_links().Cancel();
  // What comes from now on is the process's: it asks whether it may finalise MPI.
  if (membership_ != nullptr) membership_->Listen(nullptr);
  connection_->Close(failed);
  ended_.set_value();
}

void NetworkThread::AbandonStart(const std::exception_ptr& error) {
  // After a mistake of this rank's nothing has happened yet, and the program may go on without an
  // engine.
  if (membership_ == nullptr || IsInvalidArgument(error)) return;
  if (ReasonOf(error) == AbortReason::kPeerLost) membership_->SendNetworkLost(RanksOf(error));
  membership_->Abort(AbortText(error));
}

void NetworkThread::Connect() {
  connection_ = std::make_unique<Connection>(shared_.settings, shared_.environment, shared_.gauges,
                                             [this] { shared_.waiter.Wake(); });
  Transport& ranks = connection_->network_of_ranks();
  rank_ = ranks.rank();
  Log::SetRankOfThread(rank_);
  size_ = ranks.size();
  sets_ = std::make_unique<ProcessSets>(
      ranks, ProcessSet::Shared{.settings = shared_.settings,
                                .live = live_,
                                .pipeline = shared_.pipeline,
                                .handles = shared_.handles,
                                .names = *shared_.environment.names,
                                .gauges = shared_.gauges,
                                .meter = connection_->meter(),
                                .speed = connection_->speed(),
                                .recorder = *shared_.environment.recorder,
                                .marks_cycles = shared_.marks_cycles,
                                .gpu_offers = shared_.gpu_offers});
  connection_->BeginNegotiation();
  clock_ = std::make_unique<ClockComparison>(ranks);
  report_ = std::make_unique<RankReport>(live_, *sets_);
  stalls_ = std::make_unique<StallInspector>(shared_.settings, rank_, size_, membership_,
                                             [this](int id) { return sets_->RanksOf(id); });
  exchange_watch_ = std::make_unique<ExchangeWatch>(shared_.settings, rank_, membership_,
                                                    supervision::InElasticJob() ? &ranks : nullptr);
}

void NetworkThread::Loop() {
  while (true) {
    connection_->BeginServing();
    bool moved = HandleInbox();
    if (failure_) std::rethrow_exception(failure_.error());
    const std::int64_t now = NowNs();
    moved = PollClock() || moved;
    // Clocks first: bytes that compare them are not among those of an operation.
    if (clock_->done()) moved = PollSets(now) || moved;
    connection_->BeginServing();
    moved = connection_->server_links().Poll() || moved;
    if (stalls_->due(now)) InspectStalls(now);
    if (leaving_.overdue(now)) {
      throw TimedOut(fmt::format("rank {} waited {:g} s (WEIR_TIMEOUT_SECONDS) for the others to "
                                 "shut down too",
                                 rank_, shared_.settings.timeout_seconds),
                     {"", {rank_}, "shutdown"});
    }
    if (Quiet()) {
      connection_->server_links().TakeLeave();
      if (connection_->server_links().all_told()) return;
    }
    if (!moved) Pause(now);
  }
}

bool NetworkThread::HandleInbox() {
  events_.clear();
  shared_.inbox.Drain(events_);
  for (const InboxEvent& event : events_) OnEvent(event);
  return !events_.empty();
}

void NetworkThread::OnEvent(const InboxEvent& event) {
  switch (event.kind) {
    case InboxEvent::Kind::kReady:
      return event.bucket->process_set->OnReady(event.bucket, event.ready_ns);
    case InboxEvent::Kind::kSubmitted:
      return event.bucket->process_set->OnSubmitted(event.operation, event.ready_ns);
    case InboxEvent::Kind::kStaged:
      return event.bucket->process_set->OnStaged(event.bucket);
    case InboxEvent::Kind::kDone:
      return event.bucket->process_set->OnDone(event.bucket);
    case InboxEvent::Kind::kFence:
      UpdateGauges();
      if (!failure_ && looping_) return event.fence->set_value();
      fences_.push_back(event.fence);  // Until nothing is under way any more.
      return;
    case InboxEvent::Kind::kMembership:
      return OnMembership(event.membership);
    case InboxEvent::Kind::kServers:
      if (failure_ || !looping_) return;
      if (event.serve) connection_->server_links().Serve();
      if (!event.message.empty()) connection_->server_links().Tell(event.message);
      return;
    case InboxEvent::Kind::kShutdown:
      return leaving_.Leave(NowNs() +
                            static_cast<std::int64_t>(shared_.settings.timeout_seconds * 1e9));
    case InboxEvent::Kind::kDeadlinePassed:
      return EndLate(event.text);
    case InboxEvent::Kind::kFailed:
    case InboxEvent::Kind::kAbort:
      return failure_.Found(event.error);
  }
}

bool NetworkThread::PollClock() {
  if (clock_->done()) return false;
  connection_->BeginNegotiation();
  if (!clock_->Poll()) return false;
  UpdateGauges();  // First, so that totals agree with each other from the first look on.
  clock_->Publish();
  return true;
}

bool NetworkThread::PollSets(std::int64_t now_ns) {
  bool moved = false;
  // By index: agreement on a new set adds to the list.
  for (std::size_t i = 0; i < sets_->own().size(); ++i) {
    ProcessSet& set = *sets_->own()[i];
    // Who leaves says so in each of its sets, and who hears it says so in all others: a rank that
    // waits in one set alone takes part in no round of another.
    if (leaving_.begun()) set.AnnounceShutdown(leaving_.leaves());
    moved = set.Poll(now_ns) || moved;
    if (set.closing()) leaving_.Hear(set.leaving_rank());
  }
  return moved;
}

bool NetworkThread::Quiet() const {
  if (!std::ranges::all_of(sets_->own(), &ProcessSet::closing) || !live_.none_agreed())
    return false;
  if (!clock_->done()) return false;  // Its answers may be under way.
  return connection_->server_links().answered_all();
}

void NetworkThread::InspectStalls(std::int64_t now_ns) {
  const std::vector<StallInspector::Waiting> waiting = report_->WaitingForAgreement();
  const auto reason = stalls_->Check(now_ns, waiting);
  for (const StallInspector::Waiting& entry : waiting) {
    if (stalls_->IsStalled(entry, now_ns)) shared_.gauges.NoteStalled(entry.name);
  }
  shared_.gauges.stalled_tensors = stalls_->stalled();
  if (stalls_->owes_end()) stalls_->TellEnd(now_ns, report_->Doing());
  if (reason) EndStalled(*reason);
  using Work = ExchangeWatch::Work;
  const bool exchanges = std::ranges::any_of(sets_->own(), &ProcessSet::exchanging);
  const bool agrees = std::ranges::any_of(sets_->own(), &ProcessSet::round_under_way);
  // Nobody's program is waited for while clocks are compared.
  const Work work = exchanges || !clock_->done() ? Work::kExchange
                    : agrees                     ? Work::kRound
                                                 : Work::kNone;
  const MeteredTransport& meter = connection_->meter();
  const auto stands_still =
      exchange_watch_->Check(now_ns, work, meter.totals(), [&meter] { return meter.Awaited(); });
  if (stands_still) {
    failure_.Found(std::make_exception_ptr(
        TimedOut(*stands_still + report_->During(), report_->UnderWay(meter.Awaited()))));
  }
}

void NetworkThread::UpdateGauges() {
  std::int64_t queued = 0;
  for (const ProcessSet* set : sets_->own()) queued += static_cast<std::int64_t>(set->queued());
  shared_.gauges.depth(Stage::kExchange) = queued;
  connection_->StoreTotals();
}

void NetworkThread::Pause(std::int64_t now_ns) {
  UpdateGauges();
  // A pause while clocks are compared is taken for a long way.
  const bool busy = !clock_->done() || connection_->server_links().waits() ||
                    std::ranges::any_of(sets_->own(), &ProcessSet::exchanging);
  const bool outstanding = busy || std::ranges::any_of(sets_->own(), &ProcessSet::round_under_way);
  const std::uint64_t movements = connection_->meter().movements();
  if (movements != movements_seen_) shared_.waiter.Moved(now_ns);
  movements_seen_ = movements;
  if (outstanding &&
      (!connection_->wakes() || std::ranges::any_of(sets_->own(), &ProcessSet::must_poll))) {
    shared_.waiter.Pause(busy ? NetworkWaiter::For::kData : NetworkWaiter::For::kRound, now_ns);
    return;
  }
  std::int64_t until_ns = 0;
  const auto no_later_than = [&](std::int64_t due_ns) {
    if (due_ns != 0) until_ns = until_ns == 0 ? due_ns : std::min(until_ns, due_ns);
  };
  for (const ProcessSet* set : sets_->own()) no_later_than(set->next_round_ns());
  // Deadlines are looked at now and then.
  if (outstanding && until_ns == 0) until_ns = now_ns + kLongestSleepNs;
  no_later_than(connection_->next_due_ns());
  no_later_than(stalls_->must_check_ns());
  shared_.waiter.Sleep(until_ns);
}

void NetworkThread::EndStalled(const std::string& reason) {
  failure_.Found(std::make_exception_ptr(TimedOut(reason, {"", {}, "negotiate"})));
}

void NetworkThread::EndLate(const std::string& deadline) {
  const std::string silent = stalls_->Silent();
  failure_.Found(std::make_exception_ptr(
      TimedOut(fmt::format("a wait of rank {} passed its deadline of {}{}{}", rank_, deadline,
                           report_->During(), silent.empty() ? "" : "; " + silent),
               report_->UnderWay({rank_}))));
}

void NetworkThread::OnMembership(const MembershipEvent& event) {
  if (failure_) return;
  const std::string who = NameOf(event, size_);
  switch (event.kind) {
    case MembershipEvent::Kind::kPeerLost:
      return failure_.Heard(std::make_exception_ptr(PeerLost(
          who + " is lost: " + event.text + report_->During(), report_->UnderWay({event.rank}))));
    case MembershipEvent::Kind::kAbort:
      return failure_.Heard(
          ErrorOfAbort(event, who, report_->During(), report_->UnderWay({event.rank})));
    case MembershipEvent::Kind::kLauncherLost:
      return failure_.Heard(std::make_exception_ptr(
          PeerLost("the launcher of this job is gone: " + event.text + report_->During(),
                   report_->UnderWay({}))));
    case MembershipEvent::Kind::kStatusRequest:
      stalls_->Answer(NowNs(), report_->Doing());
      // Every rank that waits asks: one recording says what there is to say.
      if (NowNs() < next_flight_ns_) return;
      next_flight_ns_ =
          NowNs() + static_cast<std::int64_t>(shared_.settings.stall_warning_seconds * 5e8);
      return RecordFlight("stall", "a rank has waited too long for others");
    case MembershipEvent::Kind::kHostsUpdated:
      hosts_updated_ = true;
      return;
    case MembershipEvent::Kind::kRecordFlight:
      return RecordFlight("request", "weirrun was asked for it", event.number);
    case MembershipEvent::Kind::kStatus:
      if (const auto reason = stalls_->OnStatus(NowNs(), event.rank, event.text))
        EndStalled(*reason);
      shared_.gauges.SetStalls(stalls_->stalls());
      return;
  }
}

void NetworkThread::WriteLastWords(const std::exception_ptr& error) const {
  LogError("ends: {} (under way: {}; last stages: {})", WhatOf(error),
           report_->EverythingUnderWay(),
           LastStages(*shared_.environment.recorder, *shared_.environment.names, NowNs()));
}

void NetworkThread::RecordFlight(const char* event, const std::string& reason, int request) {
  if (!shared_.environment.record_flight) return;
  FlightReport report = report_->Flight(event, reason);
  report.request = request;
  report.clock = clock_->Await(std::chrono::milliseconds(0));
  shared_.environment.record_flight(rank_, size_, report);
}

void NetworkThread::Close() {
  const auto reason = std::make_exception_ptr(
      ShutDown("Weir has been shut down: " + leaving_.Who() +
               " called Shutdown or destroyed its engine. Nothing can be submitted any more" +
               report_->During()));
  // Before the program may find that the job has ended, and destroy its groups.
  for (ProcessSet* set : sets_->own()) set->joining().Close();
  // Where this rank has not called Shutdown, who waits for an exchange is disappointed.
  const bool is_broken_off =
      !leaving_.leaves() && std::ranges::any_of(live_.all(), [](const auto& run) {
        return !run->patient && run->bucket->negotiated();
      });
  shared_.ending.Set(reason, is_broken_off);
  exchange_watch_->Cancel();
  EndRuns(reason);
  if (membership_ != nullptr) membership_->Leave();
}

void NetworkThread::EndRuns(const std::exception_ptr& error) {
  shared_.pipeline.Stop();
  HandleInbox();  // Runs that ended meanwhile are not live any more.
  for (const auto& run : live_.all()) {
    if (run->exchange_ns == 0) continue;
    StageRecord record = run->bucket->RecordOf(Stage::kExchange, run->exchange_ns, NowNs());
    record.ok = false;
    shared_.environment.recorder->Add(record);
  }
  for (Bucket* bucket : live_.Clear()) bucket->Failed(error);
  shared_.handles.FailAll(error);
}

void NetworkThread::CloseInbox() {
  events_.clear();
  shared_.inbox.Close(events_);
  for (const InboxEvent& event : events_) {
    const bool is_new =
        event.kind == InboxEvent::Kind::kReady || event.kind == InboxEvent::Kind::kSubmitted;
    if (is_new) event.bucket->Failed(shared_.ending.error());
    if (event.fence) fences_.push_back(event.fence);
  }
  for (const auto& fence : fences_) fence->set_value();
}

std::exception_ptr NetworkThread::AwaitVerdict(const std::exception_ptr& error) {
  if (failure_ || ReasonOf(error) != AbortReason::kPeerLost) return error;
  const std::int64_t deadline = NowNs() + kVerdictNs;
  while (!failure_ && NowNs() < deadline) {
    if (!HandleInbox()) shared_.waiter.Sleep(deadline);
  }
  return failure_ ? failure_.error() : error;
}

void NetworkThread::Collapse(const std::exception_ptr& error) {
  shared_.ending.Set(error, true);
  WriteLastWords(error);
  const AbortReason kind = ReasonOf(error);
  shared_.gauges.CountAbort(kind);
  // What the transport threw is this rank's own discovery as well.
  failure_.Found(error);
  if (failure_.is_ours() && kind == AbortReason::kCorrupt) ++shared_.gauges.checksum_failures;
  if (failure_.is_ours() && membership_ != nullptr) {
    if (kind == AbortReason::kPeerLost) membership_->SendNetworkLost(RanksOf(error));
    membership_->Abort(AbortText(error));
  }
  // After the others know, before what was under way is forgotten.
  RecordFlight("failure", WhatOf(error));
  for (ProcessSet* set : sets_->own()) set->Cancel();
  connection_->server_links().Cancel();
  clock_->Cancel();
  exchange_watch_->Cancel();
  EndRuns(error);
}

}  // namespace weir
