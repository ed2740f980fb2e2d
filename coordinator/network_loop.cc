#include <algorithm>

#include "common/check.h"
#include "common/clock.h"
#include "coordinator/coordinator.h"
#include "coordinator/step_gate.h"
#include "weir/error.h"

// The network thread: one loop that drains the inbox, moves rounds and exchanges forward, and
// waits.

namespace weir {
namespace {

constexpr std::int64_t kLongestSleepNs = 20'000'000;

}  // namespace

void Coordinator::Loop() {
  while (true) {
    bool moved = HandleInbox();
    if (failure_) std::rethrow_exception(failure_);
    const std::int64_t now = NowNs();
    moved = PollNegotiation(now) || moved;
    moved = exchanger_->Poll(now) || moved;
    if (stalls_->due(now)) InspectStalls(now);
    if (shutdown_deadline_ns_ != 0 && now > shutdown_deadline_ns_) {
      throw TimedOut("the other ranks did not shut down within " +
                         std::to_string(settings_.timeout_seconds) + " s (WEIR_TIMEOUT_SECONDS)",
                     {"", {rank_}, "shutdown"});
    }
    if (closing_ && std::ranges::none_of(live_, &Bucket::agreed)) return;
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
      return OnReady(event.bucket);
    case InboxEvent::Kind::kStaged:
      return OnStaged(event.bucket);
    case InboxEvent::Kind::kDone:
      last_finished_ = event.bucket->name();
      return RemoveLive(event.bucket);
    case InboxEvent::Kind::kFence:
      UpdateGauges();
      if (!failure_ && !ending_) return event.fence->set_value();
      fences_.push_back(event.fence);  // Until nothing is under way any more.
      return;
    case InboxEvent::Kind::kMembership:
      return OnMembership(event.membership);
    case InboxEvent::Kind::kShutdown:
      shutdown_deadline_ns_ = NowNs() + static_cast<std::int64_t>(settings_.timeout_seconds * 1e9);
      return negotiator_->AnnounceShutdown();
    case InboxEvent::Kind::kDeadlinePassed:
      return EndLate();
    case InboxEvent::Kind::kFailed:
    case InboxEvent::Kind::kAbort:
      if (!failure_) {
        failure_ = event.error;
        failure_is_ours_ = true;
      }
      return;
  }
}

Coordinator::SlotUse& Coordinator::Use(std::uint32_t slot) {
  if (slots_.size() <= slot) slots_.resize(slot + 1);
  return slots_[slot];
}

void Coordinator::AddLive(Bucket* bucket) {
  bucket->agreed = false;
  ++gauges_.depth(Stage::kNegotiate);
  bucket->live_index = live_.size();
  live_.push_back(bucket);
}

void Coordinator::RemoveLive(Bucket* bucket) {
  const std::size_t index = bucket->live_index;
  WEIR_CHECK(index < live_.size() && live_[index] == bucket);
  if (!bucket->agreed) --gauges_.depth(Stage::kNegotiate);
  live_[index] = live_.back();
  live_[index]->live_index = index;
  live_.pop_back();
}

void Coordinator::OnReady(Bucket* bucket) {
  AddLive(bucket);
  if (bucket->gate() != nullptr) return;  // Negotiated once the gate has let it through.
  auto* operation = dynamic_cast<Operation*>(bucket);
  if (operation == nullptr || operation->MatchesSlot()) {
    Use(bucket->slot).bucket = bucket;
    negotiator_->MarkReady(bucket->slot);
    return;
  }
  asked_[operation->name()] = operation;
  negotiator_->Ask(operation->request());
}

void Coordinator::OnStaged(Bucket* bucket) {
  if (bucket->stages()[bucket->cursor] == BucketStage::kExchange) {
    bucket->staged = true;
    return;
  }
  StepGate& gate = *bucket->gate();
  if (!gate.Arrive(bucket)) return;
  Use(gate.slot).gate = &gate;
  negotiator_->MarkReady(gate.slot);
  if (gate.willing()) negotiator_->MarkReady(gate.slot + 1);
}

bool Coordinator::PollNegotiation(std::int64_t now_ns) {
  if (closing_ || !negotiator_->Poll(now_ns, exchanger_->under_way())) return false;
  OnRound();
  return true;
}

void Coordinator::OnRound() {
  const Negotiator::Outcome& outcome = negotiator_->outcome();
  agreed_.clear();
  for (const std::uint32_t slot : outcome.ready) {
    const SlotUse& use = Use(slot);
    if (use.gate != nullptr) {
      OnGate(*use.gate, std::ranges::binary_search(outcome.ready, slot + 1));
    } else if (use.bucket != nullptr) {  // Neither: the second slot of a gate.
      agreed_.push_back(use.bucket);
    }
  }
  for (const Response& response : outcome.responses) OnResponse(response);
  std::ranges::stable_sort(agreed_, std::ranges::greater(), &Bucket::priority);
  for (Bucket* bucket : agreed_) Agree(bucket);
  if (outcome.shutdown) {
    closing_ = true;
    leaving_rank_ = outcome.leaving_rank;
  }
  ++(outcome.slow_path ? gauges_.slow_rounds : gauges_.fast_rounds);
  if (marks_cycles_.load(std::memory_order_relaxed)) {
    environment_.recorder->Add(
        {.start_ns = outcome.started_ns, .end_ns = NowNs(), .stage = Stage::kRound});
  }
}

void Coordinator::OnResponse(const Response& response) {
  if (response.kind == Response::Kind::kForget) {
    Bucket* bucket = Use(response.slot).bucket;
    slots_[response.slot] = {};
    if (bucket == nullptr) return;
    bucket->slot = kNoSlot;
    auto* operation = static_cast<Operation*>(bucket);
    if (!operation->busy() || operation->agreed || asked_.contains(operation->name())) return;
    negotiator_->Withdraw(response.slot);
    asked_[operation->name()] = operation;
    negotiator_->Ask(operation->request());
    return;
  }
  const auto asked = asked_.find(response.name);
  WEIR_CHECK_MSG(asked != asked_.end(), response.name);
  Operation* operation = asked->second;
  asked_.erase(asked);
  if (response.kind == Response::Kind::kMismatch) {
    RemoveLive(operation);
    operation->slot = kNoSlot;
    operation->Failed(std::make_exception_ptr(
        Mismatch(response.text, {response.name, response.ranks, "negotiate"})));
    return;
  }
  operation->slot = response.slot;
  if (response.slot != kNoSlot && operation->request().kind != RequestKind::kGroup) {
    Use(response.slot).bucket = operation;
  }
  operation->Agree(response.first_dims);
  agreed_.push_back(operation);
}

void Coordinator::OnGate(StepGate& gate, bool pass) {
  if (!pass && gate.willing()) negotiator_->Withdraw(gate.slot + 1);
  gate.Decide(pass);
  // Taken: once the last bucket is done the gate may already be reset for the next step.
  for (Bucket* bucket : gate.TakeWaiting()) {
    if (pass) {
      Use(bucket->slot).bucket = bucket;
      negotiator_->MarkReady(bucket->slot);
      pipeline_->Resume(bucket);
    } else {
      RemoveLive(bucket);
      bucket->Done();
    }
  }
}

void Coordinator::Agree(Bucket* bucket) {
  bucket->agreed = true;
  --gauges_.depth(Stage::kNegotiate);
  bucket->agreed_ns = NowNs();
  environment_.recorder->Add(
      bucket->RecordOf(Stage::kNegotiate, bucket->ready_ns, bucket->agreed_ns));
  exchanger_->Enqueue(bucket);
}

void Coordinator::Exchanged(Bucket* bucket) {
  environment_.recorder->Add(bucket->RecordOfWork(Stage::kExchange, bucket->exchange_ns, NowNs()));
  bucket->exchange_ns = 0;
  bucket->staged = false;
  pipeline_->Resume(bucket);
}

std::vector<StallInspector::Waiting> Coordinator::WaitingForAgreement() const {
  std::vector<StallInspector::Waiting> waiting;
  for (const Bucket* bucket : live_) {
    if (!bucket->agreed) waiting.push_back({bucket->name(), bucket->ready_ns});
  }
  return waiting;
}

void Coordinator::InspectStalls(std::int64_t now_ns) {
  const auto reason = stalls_->Check(now_ns, WaitingForAgreement());
  gauges_.stalled_tensors = stalls_->stalled();
  if (reason) EndStalled(*reason);
}

NetworkTotals Coordinator::UpdateGauges() {
  gauges_.depth(Stage::kExchange) = static_cast<std::int64_t>(exchanger_->queued());
  const NetworkTotals totals = transport_->totals();
  gauges_.sent_bytes.store(totals.sent_bytes, std::memory_order_relaxed);
  gauges_.received_bytes.store(totals.received_bytes, std::memory_order_relaxed);
  gauges_.sent_messages.store(totals.sent_messages, std::memory_order_relaxed);
  gauges_.received_messages.store(totals.received_messages, std::memory_order_relaxed);
  return totals;
}

void Coordinator::Pause(std::int64_t now_ns) {
  const NetworkTotals totals = UpdateGauges();
  const bool busy = exchanger_->under_way();
  const bool outstanding = busy || negotiator_->round_under_way();
  if (totals != totals_seen_ || !outstanding) {
    totals_seen_ = totals;
    progress_ns_ = now_ns;
  }
  if (outstanding && !wakes_) {
    waiter_.Pause(busy ? Waiter::For::kData : Waiter::For::kRound, now_ns, progress_ns_);
    return;
  }
  std::int64_t until_ns = closing_ ? 0 : negotiator_->next_round_ns(busy);
  // Deadlines are looked at now and then.
  if (outstanding && until_ns == 0) until_ns = now_ns + kLongestSleepNs;
  if (const std::int64_t due_ns = transport_->next_due_ns(); due_ns != 0) {
    until_ns = until_ns == 0 ? due_ns : std::min(until_ns, due_ns);
  }
  waiter_.Sleep(until_ns);
}

}  // namespace weir
