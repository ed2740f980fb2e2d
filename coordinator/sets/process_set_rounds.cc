#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/clock.h"
#include "coordinator/network/gpu_offers.h"
#include "coordinator/sets/process_set.h"
#include "coordinator/work/step_gate.h"
#include "weir/error.h"

// What a process set does with buckets, and with the outcome of its rounds.

namespace weir {

ProcessSet::SlotUse& ProcessSet::Use(std::uint32_t slot) {
  if (slots_.size() <= slot) slots_.resize(slot + 1);
  return slots_[slot];
}

void ProcessSet::OnReady(Bucket* bucket, std::int64_t ready_ns) {
  if (retired_) return bucket->Failed(WhyRetired(*bucket));
  LiveRun& run = shared_.live.Add(*bucket, ready_ns);
  if (!bucket->negotiated() && !closing_) {
    run.agreed = true;
    return Agree(run);
  }
  if (bucket->gate() != nullptr) return;  // Negotiated once the gate has let it through.
  Use(bucket->slot).bucket = bucket;
  negotiator_->MarkReady(bucket->slot);
}

void ProcessSet::OnSubmitted(Operation* operation, std::int64_t ready_ns) {
  if (retired_) return operation->Failed(WhyRetired(*operation));
  if (closing_ && id() != kGlobal) return operation->Failed(WhyClosed());
  LiveRun& run = shared_.live.Add(*operation, ready_ns, operation);
  run.staged = true;
  run.patient = operation->patient();
  if (operation->MatchesSlot()) return negotiator_->MarkReady(operation->slot);
  if (operation->request().kind != RequestKind::kJoin) return Ask(*operation);
  join_ = operation;
  AskToJoin();
}

void ProcessSet::Ask(Operation& operation) {
  asked_[operation.name()] = &operation;
  negotiator_->Ask(operation.request());
}

bool ProcessSet::WaitsForAgreement(const LiveRun& run) const {
  return run.operation != nullptr && run.bucket->process_set == this && !run.agreed;
}

void ProcessSet::AskToJoin() {
  // What a round that is under way finds ready here must not be asked for again.
  if (join_ == nullptr || negotiator_->round_under_way()) return;
  // Rank 0 has to know all that this rank still waits for: slots do not tell it.
  for (const auto& run : shared_.live.all()) {
    if (!WaitsForAgreement(*run)) continue;
    Operation& operation = *run->operation;
    if (operation.slot == kNoSlot || asked_.contains(operation.name())) continue;
    negotiator_->Withdraw(operation.slot);
    Ask(operation);
  }
  Ask(*std::exchange(join_, nullptr));
}

void ProcessSet::OnStaged(Bucket* bucket) {
  if (bucket->stages()[bucket->cursor] == BucketStage::kExchange) {
    shared_.live.Of(*bucket).staged = true;
    return;
  }
  StepGate& gate = *bucket->gate();
  if (!gate.Arrive(bucket)) return;
  Use(gate.slot).gate = &gate;
  negotiator_->MarkReady(gate.slot);
  if (gate.willing()) negotiator_->MarkReady(gate.slot + 1);
}

void ProcessSet::OnDone(Bucket* bucket) {
  LiveRun& run = shared_.live.Of(*bucket);
  Operation* const operation = run.operation;
  shared_.live.Finish(run, bucket->name() + Suffix());
  if (joining_->OnDone(bucket) || operation == nullptr) return;
  // Of what has no slot nobody will remind the ranks; what has one is kept for the next time.
  if (operation->slot == kNoSlot) operations_->Retire(operation);
}

void ProcessSet::Withdraw(Bucket* bucket) {
  shared_.live.Remove(shared_.live.Of(*bucket));
  StepGate* gate = bucket->gate();
  if (gate == nullptr) return negotiator_->Withdraw(bucket->slot);
  negotiator_->Withdraw(gate->slot);
  negotiator_->Withdraw(gate->slot + 1);
  gate->TakeWaiting();
}

bool ProcessSet::PollNegotiation(std::int64_t now_ns) {
  AskToJoin();
  shared_.meter.Begin({.bytes = &shared_.gauges.traffic_of(TrafficOp::kNegotiation)});
  negotiator_->SetFastNetwork(shared_.speed.fast());
  if (closing_ || !negotiator_->Poll(now_ns, exchanging())) return false;
  OnRound();
  return true;
}

void ProcessSet::OnRound() {
  const Negotiator::Outcome& outcome = negotiator_->outcome();
  agreed_.clear();
  // First, because what a gate ends below may be what they are about.
  for (const Response& response : outcome.responses) {
    if (response.kind == Response::Kind::kCalled) {
      joining_->OnCalled(response.name, response.ranks.front(), response.rows.front());
    } else if (response.kind == Response::Kind::kPlanned) {
      joining_->OnTold(response.name, {.from_step = response.rows.front(),
                                       .forms = response.text,
                                       .measures = response.rows.back() != 0});
    }
  }
  for (const std::uint32_t slot : outcome.ready) {
    const SlotUse& use = Use(slot);
    if (use.gate != nullptr) {
      OnGate(*use.gate, std::ranges::binary_search(outcome.ready, slot + 1));
    } else if (use.bucket != nullptr) {  // Neither: the second slot of a gate.
      Collect(shared_.live.Of(*use.bucket));
    }
  }
  for (const Response& response : outcome.responses) OnResponse(response);
  std::ranges::stable_sort(agreed_, std::ranges::greater(),
                           [](const LiveRun* run) { return run->bucket->priority(); });
  for (LiveRun* run : agreed_) Agree(*run);
  if (outcome.shutdown) BeginClosing();
  ++(outcome.slow_path ? shared_.gauges.slow_rounds : shared_.gauges.fast_rounds);
  if (shared_.marks_cycles.load(std::memory_order_relaxed)) {
    shared_.recorder.Add(
        {.start_ns = outcome.started_ns, .end_ns = NowNs(), .stage = Stage::kRound});
  }
}

std::exception_ptr ProcessSet::WhyRetired(const Bucket& bucket) const {
  return std::make_exception_ptr(InvalidArgument("process set " + std::to_string(id()) +
                                                     " was removed before '" + bucket.name() +
                                                     "' could begin",
                                                 {bucket.name(), {}, "submit"}));
}

std::exception_ptr ProcessSet::WhyClosed() const {
  const int rank = leaving_rank();
  return std::make_exception_ptr(ShutDown(
      "Weir has been shut down: " + (rank < 0 ? "a rank" : "rank " + std::to_string(rank)) +
          " has left the job; nothing more" + Suffix() + " is agreed on",
      {"", {}, "negotiate"}));
}

void ProcessSet::BeginClosing() {
  closing_ = true;
  if (id() == kGlobal) return;  // The end of everything follows at once.
  // The job ends once all ranks know, which may be much later for those outside the set. Buckets of
  // gradients, which a worker may hold, wait for that.
  std::vector<LiveRun*> waiting;
  for (const auto& run : shared_.live.all()) {
    if (WaitsForAgreement(*run)) waiting.push_back(run.get());
  }
  for (LiveRun* run : waiting) {
    Operation& operation = *run->operation;
    shared_.live.Remove(*run);
    operation.Failed(WhyClosed());
  }
}

void ProcessSet::OnResponse(const Response& response) {
  if (response.kind == Response::Kind::kForget) return OnForget(response.slot);
  if (response.kind == Response::Kind::kCalled) return;  // OnRound has seen to it.
  if (response.kind == Response::Kind::kJoined) {
    if (response.ranks == std::vector<int>{transport().JobRank(transport().rank())}) {
      joining_->Begin();
    }
    return;
  }
  const auto asked = asked_.find(response.name);
  if (asked == asked_.end()) {  // This rank has joined, or another one plans.
    // Also in what exchanges nothing: it has a place in the order of exchanges.
    if (response.kind == Response::Kind::kReady && response.request) {
      Operation& operation = *joining_->TakePart(response.request.value());
      LiveRun& run = shared_.live.Add(operation, NowNs(), &operation);
      run.staged = true;
      Collect(run);
    }
    return;
  }
  Operation* operation = asked->second;
  asked_.erase(asked);
  if (response.kind == Response::Kind::kPlanned) {  // Its exchange would be this rank's alone.
    shared_.live.Remove(shared_.live.Of(*operation));
    operation->Done();
    return operations_->Retire(operation);
  }
  if (response.kind == Response::Kind::kMismatch) {
    shared_.live.Remove(shared_.live.Of(*operation));
    operation->slot = kNoSlot;
    operation->Failed(std::make_exception_ptr(
        Mismatch(response.text, {response.name, response.ranks, "negotiate"})));
    operations_->Retire(operation);
    return;
  }
  operation->Agree(response.slot, response.rows, response.gpus);
  const bool tells = !response.text.empty() && transport().rank() == 0;
  if (tells) shared_.gpu_offers.TellWhyStaged(response.text);
  if (operation->slot != kNoSlot)
    Use(operation->slot) = {.bucket = operation, .operation = operation};
  LiveRun& run = shared_.live.Of(*operation);
  if (response.kind == Response::Kind::kAllJoined) run.staged = joining_->End(operation);
  Collect(run);
}

void ProcessSet::OnForget(std::uint32_t slot) {
  Operation* const operation = std::exchange(Use(slot), {}).operation;
  if (operation == nullptr) return;
  operation->slot = kNoSlot;
  const LiveRun* run = shared_.live.Find(*operation);
  if (run == nullptr) return operations_->Retire(operation);
  // What is agreed on runs to its end and goes then; what asks already has its answer coming.
  if (run->agreed || asked_.contains(operation->name())) return;
  negotiator_->Withdraw(slot);
  Ask(*operation);
}

void ProcessSet::OnGate(StepGate& gate, bool pass) {
  if (!pass && gate.willing()) negotiator_->Withdraw(gate.slot + 1);
  gate.Decide(pass);
  // Taken: once the last bucket is done the gate may already be reset for the next step.
  for (Bucket* bucket : gate.TakeWaiting()) {
    if (pass) {
      WEIR_CHECK(bucket->negotiated());
      Use(bucket->slot).bucket = bucket;
      negotiator_->MarkReady(bucket->slot);
      shared_.pipeline.Resume(bucket);
    } else {
      shared_.live.Remove(shared_.live.Of(*bucket));
      bucket->Done();
      joining_->OnDone(bucket);
    }
  }
}

void ProcessSet::Collect(LiveRun& run) {
  run.agreed = true;
  run.chunk_bytes = negotiator_->outcome().fast_network ? ChunkStream::kLargeChunkBytes
                                                        : ChunkStream::kDefaultChunkBytes;
  agreed_.push_back(&run);
}

void ProcessSet::Agree(LiveRun& run) {
  --shared_.gauges.depth(Stage::kNegotiate);
  run.agreed_ns = NowNs();
  last_agreed_ns_ = run.agreed_ns;
  shared_.recorder.Add(run.bucket->RecordOf(Stage::kNegotiate, run.ready_ns, run.agreed_ns));
  (run.bucket->negotiated() ? exchanger_ : free_exchanger_)->Enqueue(run);
}

void ProcessSet::Exchanged(LiveRun& run) {
  const std::int64_t now_ns = NowNs();
  StageRecord record = run.bucket->RecordOfWork(Stage::kExchange, run.exchange_ns, now_ns);
  run.bucket->NoteExchange(run.exchange_ns, now_ns);
  // What the run's exchanges before this one were for has been counted.
  record.bytes_in -= std::exchange(run.recorded.wire_bytes, record.bytes_in);
  record.bytes_out -= std::exchange(run.recorded.dense_bytes, record.bytes_out);
  shared_.recorder.Add(record);
  run.exchange_ns = 0;
  if (run.operation == nullptr) return shared_.pipeline.Resume(run.bucket);
  // Its exchange was all of it. Another run may be submitted from here on, and comes by the inbox.
  Operation& operation = *run.operation;
  operation.Done();
  OnDone(&operation);
}

}  // namespace weir
