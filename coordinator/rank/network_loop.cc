#include <fmt/core.h>

#include <algorithm>

#include "common/clock.h"
#include "coordinator/rank/coordinator.h"
#include "weir/error.h"

// The network thread: one loop that drains the inbox, moves rounds and exchanges forward, and
// waits.

namespace weir {
namespace {

constexpr std::int64_t kLongestSleepNs = 20'000'000;

}  // namespace

void Coordinator::Loop() {
  const MeteredTransport::Use serving{.bytes = &gauges_.traffic_of(TrafficOp::kServing)};
  while (true) {
    meter_->Begin(serving);
    bool moved = HandleInbox();
    if (failure_) std::rethrow_exception(failure_);
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
      return event.bucket->process_set->OnReady(event.bucket);
    case InboxEvent::Kind::kStaged:
      return event.bucket->process_set->OnStaged(event.bucket);
    case InboxEvent::Kind::kDone:
      last_finished_ = event.bucket->name() + event.bucket->process_set->Suffix();
      return event.bucket->process_set->OnDone(event.bucket);
    case InboxEvent::Kind::kFence:
      UpdateGauges();
      if (!failure_ && !ending_) return event.fence->set_value();
      fences_.push_back(event.fence);  // Until nothing is under way any more.
      return;
    case InboxEvent::Kind::kMembership:
      return OnMembership(event.membership);
    case InboxEvent::Kind::kServers:
      if (failure_ || ending_) return;
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
      if (!failure_) {
        failure_ = event.error;
        failure_is_ours_ = true;
      }
      return;
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

std::vector<StallInspector::Waiting> Coordinator::WaitingForAgreement() const {
  std::vector<StallInspector::Waiting> waiting;
  for (const Bucket* bucket : live_.all()) {
    if (!bucket->agreed && !bucket->patient) {
      waiting.push_back({bucket->name(), bucket->ready_ns, bucket->process_set->id()});
    }
  }
  return waiting;
}

std::vector<int> Coordinator::Joined() const {
  std::vector<int> joined;
  for (const ProcessSet* set : sets_->own()) {
    // The others may not know it yet: somebody who is late holds up that round, too.
    const bool waits_to_join = std::ranges::any_of(live_.all(), [&](const Bucket* bucket) {
      return bucket->process_set == set && bucket->name() == kJoinName;
    });
    if (waits_to_join || set->joining().joined()) joined.push_back(set->id());
  }
  return joined;
}

StallInspector::Doing Coordinator::Doing() const {
  return {WaitingForAgreement(), last_finished_, Joined()};
}

void Coordinator::InspectStalls(std::int64_t now_ns) {
  const std::vector<StallInspector::Waiting> waiting = WaitingForAgreement();
  const auto reason = stalls_->Check(now_ns, waiting);
  for (const StallInspector::Waiting& entry : waiting) {
    if (stalls_->IsStalled(entry, now_ns)) gauges_.NoteStalled(entry.name);
  }
  gauges_.stalled_tensors = stalls_->stalled();
  if (stalls_->owes_end()) stalls_->TellEnd(now_ns, Doing());
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
    waiter_.Pause(busy || server_links_->waits() ? Waiter::For::kData : Waiter::For::kRound, now_ns,
                  progress_ns_);
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

}  // namespace weir
