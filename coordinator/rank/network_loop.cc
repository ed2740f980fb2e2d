#include <fmt/core.h>

#include <algorithm>

#include "common/clock.h"
#include "common/log.h"
#include "coordinator/rank/coordinator.h"
#include "coordinator/work/abort_text.h"
#include "metrics/records/last_stages.h"
#include "weir/error.h"

// The network thread: one loop that drains the inbox, moves rounds and exchanges forward, and
// waits; and how it ends, in good order, or because this or another rank failed.

namespace weir {
namespace {

constexpr std::int64_t kLongestSleepNs = 20'000'000;
// A dying process may still write its core file.
constexpr std::int64_t kVerdictNs = 2'000'000'000;

}  // namespace

void Coordinator::Loop() {
  const MeteredTransport::Use serving{.bytes = &gauges_.traffic_of(TrafficOp::kServing)};
  while (true) {
    meter_->Begin(serving);
    bool moved = HandleInbox();
    if (failure_) std::rethrow_exception(failure_.error());
    const std::int64_t now = NowNs();
    moved = PollClocks() || moved;
    // Clocks first: bytes that compare them are not among those of an operation.
    if (clocks_->done()) moved = PollSets(now) || moved;
    meter_->Begin(serving);
    moved = server_links_->Poll() || moved;
    if (stalls_->due(now)) InspectStalls(now);
    if (shutdown_deadline_ns_ != 0 && now > shutdown_deadline_ns_) {
      throw TimedOut(fmt::format("rank {} waited {:g} s (WEIR_TIMEOUT_SECONDS) for the others to "
                                 "shut down too",
                                 rank_, settings_.timeout_seconds),
                     {"", {rank_}, "shutdown"});
    }
    if (Quiet()) {
      server_links_->TakeLeave();
      if (server_links_->all_told()) return;
    }
    if (!moved) Pause(now);
  }
}

bool Coordinator::HandleInbox() {
  events_.clear();
  inbox_.Drain(events_);
  for (const InboxEvent& event : events_) OnEvent(event);
  return !events_.empty();
}

void Coordinator::OnEvent(const InboxEvent& event) {
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
      if (event.serve) server_links_->Serve();
      if (!event.message.empty()) server_links_->Tell(event.message);
      return;
    case InboxEvent::Kind::kShutdown:
      shutdown_deadline_ns_ = NowNs() + static_cast<std::int64_t>(settings_.timeout_seconds * 1e9);
      job_ends_ = true;
      return;
    case InboxEvent::Kind::kDeadlinePassed:
      return EndLate(event.text);
    case InboxEvent::Kind::kFailed:
    case InboxEvent::Kind::kAbort:
      return failure_.Found(event.error);
  }
}

bool Coordinator::PollClocks() {
  if (clocks_->done()) return false;
  meter_->Begin(negotiation());
  if (!clocks_->Poll()) return false;
  UpdateGauges();  // Totals agree with each other from the first look on.
  if (rank_ != 0) clock_measured_.set_value(clocks_->job_clock());
  return true;
}

bool Coordinator::PollSets(std::int64_t now_ns) {
  bool moved = false;
  // By index: agreement on a new set adds to the list.
  for (std::size_t i = 0; i < sets_->own().size(); ++i) {
    ProcessSet& set = *sets_->own()[i];
    // Who leaves says so in each of its sets, and who hears it says so in all others: a rank that
    // waits in one set alone takes part in no round of another.
    if (job_ends_) set.AnnounceShutdown(/*leaves=*/shutdown_deadline_ns_ != 0);
    moved = set.Poll(now_ns) || moved;
    if (!set.closing()) continue;
    job_ends_ = true;
    if (leaving_rank_ < 0) leaving_rank_ = set.leaving_rank();
  }
  return moved;
}

bool Coordinator::Quiet() const {
  if (!std::ranges::all_of(sets_->own(), &ProcessSet::closing) || !live_.none_agreed())
    return false;
  if (!clocks_->done()) return false;  // Its answers may be under way.
  return server_links_->answered_all();
}

void Coordinator::InspectStalls(std::int64_t now_ns) {
  const std::vector<StallInspector::Waiting> waiting = report_->WaitingForAgreement();
  const auto reason = stalls_->Check(now_ns, waiting);
  for (const StallInspector::Waiting& entry : waiting) {
    if (stalls_->IsStalled(entry, now_ns)) gauges_.NoteStalled(entry.name);
  }
  gauges_.stalled_tensors = stalls_->stalled();
  if (stalls_->owes_end()) stalls_->TellEnd(now_ns, report_->Doing());
  if (reason) EndStalled(*reason);
}

NetworkTotals Coordinator::UpdateGauges() {
  std::int64_t queued = 0;
  for (const ProcessSet* set : sets_->own()) queued += static_cast<std::int64_t>(set->queued());
  gauges_.depth(Stage::kExchange) = queued;
  const NetworkTotals totals = transport_->totals();
  gauges_.sent_bytes.store(totals.sent_bytes, std::memory_order_relaxed);
  gauges_.received_bytes.store(totals.received_bytes, std::memory_order_relaxed);
  gauges_.sent_messages.store(totals.sent_messages, std::memory_order_relaxed);
  gauges_.received_messages.store(totals.received_messages, std::memory_order_relaxed);
  return totals;
}

void Coordinator::Pause(std::int64_t now_ns) {
  const NetworkTotals totals = UpdateGauges();
  // A pause while clocks are compared is taken for a long way.
  const bool busy = !clocks_->done() || std::ranges::any_of(sets_->own(), &ProcessSet::exchanging);
  const bool outstanding = busy || server_links_->waits() ||
                           std::ranges::any_of(sets_->own(), &ProcessSet::round_under_way);
  if (totals != totals_seen_ || !outstanding) {
    totals_seen_ = totals;
    progress_ns_ = now_ns;
  }
  if (outstanding && (!wakes_ || std::ranges::any_of(sets_->own(), &ProcessSet::must_poll))) {
    waiter_.Pause(
        busy || server_links_->waits() ? NetworkWaiter::For::kData : NetworkWaiter::For::kRound,
        now_ns, progress_ns_);
    return;
  }
  std::int64_t until_ns = 0;
  const auto no_later_than = [&](std::int64_t due_ns) {
    if (due_ns != 0) until_ns = until_ns == 0 ? due_ns : std::min(until_ns, due_ns);
  };
  for (const ProcessSet* set : sets_->own()) no_later_than(set->next_round_ns());
  // Deadlines are looked at now and then.
  if (outstanding && until_ns == 0) until_ns = now_ns + kLongestSleepNs;
  no_later_than(transport_->next_due_ns());
  no_later_than(stalls_->must_check_ns());
  waiter_.Sleep(until_ns);
}

void Coordinator::EndStalled(const std::string& reason) {
  failure_.Found(std::make_exception_ptr(TimedOut(reason, {"", {}, "negotiate"})));
}

void Coordinator::EndLate(const std::string& deadline) {
  const std::string silent = stalls_->Silent();
  failure_.Found(std::make_exception_ptr(
      TimedOut(fmt::format("a wait of rank {} passed its deadline of {}{}{}", rank_, deadline,
                           report_->During(), silent.empty() ? "" : "; " + silent),
               report_->UnderWay({rank_}))));
}

void Coordinator::OnMembership(const MembershipEvent& event) {
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
      next_flight_ns_ = NowNs() + static_cast<std::int64_t>(settings_.stall_warning_seconds * 5e8);
      return RecordFlight("stall", "a rank has waited too long for others");
    case MembershipEvent::Kind::kRecordFlight:
      return RecordFlight("request", "weirrun was asked for it", event.number);
    case MembershipEvent::Kind::kStatus:
      if (const auto reason = stalls_->OnStatus(NowNs(), event.rank, event.text))
        EndStalled(*reason);
      gauges_.SetStalls(stalls_->stalls());
      return;
  }
}

void Coordinator::WriteLastWords(const std::exception_ptr& error) const {
  LogError("ends: {} (under way: {}; last stages: {})", WhatOf(error),
           report_->EverythingUnderWay(),
           LastStages(*environment_.recorder, *environment_.names, NowNs()));
}

void Coordinator::RecordFlight(const char* event, const std::string& reason, int request) {
  if (!environment_.record_flight) return;
  FlightReport report = report_->Flight(event, reason);
  report.request = request;
  report.clock = AwaitClock(std::chrono::milliseconds(0));
  environment_.record_flight(rank_, size_, report);
}

void Coordinator::Close() {
  std::string who = "a rank";
  if (shutdown_deadline_ns_ != 0) {
    who = "this rank";
  } else if (leaving_rank_ >= 0) {
    who = "rank " + std::to_string(leaving_rank_);
  }
  const auto reason = std::make_exception_ptr(
      ShutDown("Weir has been shut down: " + who +
               " called Shutdown or destroyed its engine. Nothing can be submitted any more" +
               report_->During()));
  // Before the program may find that the job has ended, and destroy its groups.
  for (ProcessSet* set : sets_->own()) set->joining().Close();
  // Where this rank has not called Shutdown, who waits for an exchange is disappointed.
  const bool is_broken_off =
      shutdown_deadline_ns_ == 0 && std::ranges::any_of(live_.all(), [](const auto& run) {
        return !run->patient && run->bucket->negotiated();
      });
  ending_.Set(reason, is_broken_off);
  EndRuns(reason);
  if (environment_.membership != nullptr) environment_.membership->Leave();
}

void Coordinator::EndRuns(const std::exception_ptr& error) {
  pipeline_->Stop();
  HandleInbox();  // Runs that ended meanwhile are not live any more.
  for (const auto& run : live_.all()) {
    if (run->exchange_ns == 0) continue;
    StageRecord record = run->bucket->RecordOf(Stage::kExchange, run->exchange_ns, NowNs());
    record.ok = false;
    environment_.recorder->Add(record);
  }
  for (Bucket* bucket : live_.Clear()) bucket->Failed(error);
  handles_.FailAll(error);
}

void Coordinator::CloseInbox() {
  events_.clear();
  inbox_.Close(events_);
  for (const InboxEvent& event : events_) {
    const bool is_new =
        event.kind == InboxEvent::Kind::kReady || event.kind == InboxEvent::Kind::kSubmitted;
    if (is_new) event.bucket->Failed(ending_.error());
    if (event.fence) fences_.push_back(event.fence);
  }
  for (const auto& fence : fences_) fence->set_value();
}

std::exception_ptr Coordinator::AwaitVerdict(const std::exception_ptr& error) {
  if (failure_ || ReasonOf(error) != AbortReason::kPeerLost) return error;
  const std::int64_t deadline = NowNs() + kVerdictNs;
  while (!failure_ && NowNs() < deadline) {
    if (!HandleInbox()) waiter_.Sleep(deadline);
  }
  return failure_ ? failure_.error() : error;
}

void Coordinator::AbandonStart(const std::exception_ptr& error) {
  // After a mistake of this rank's nothing has happened yet, and the program may go on without an
  // engine.
  if (environment_.membership == nullptr || IsInvalidArgument(error)) return;
  environment_.membership->Abort(AbortText(error));
}

void Coordinator::Collapse(const std::exception_ptr& error) {
  ending_.Set(error, true);
  WriteLastWords(error);
  const AbortReason kind = ReasonOf(error);
  gauges_.CountAbort(kind);
  // What the transport threw is this rank's own discovery as well.
  failure_.Found(error);
  if (failure_.is_ours() && kind == AbortReason::kCorrupt) ++gauges_.checksum_failures;
  if (failure_.is_ours() && environment_.membership != nullptr) {
    environment_.membership->Abort(AbortText(error));
  }
  // After the others know, before what was under way is forgotten.
  RecordFlight("failure", WhatOf(error));
  for (ProcessSet* set : sets_->own()) set->Cancel();
  server_links_->Cancel();
  clocks_->Cancel();
  EndRuns(error);
}

}  // namespace weir
