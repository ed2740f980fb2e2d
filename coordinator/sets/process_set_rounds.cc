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

void ProcessSet::OnReady(Bucket* bucket) {
  auto* operation = dynamic_cast<Operation*>(bucket);
  if (retired_) {
    bucket->Failed(std::make_exception_ptr(InvalidArgument("process set " + std::to_string(id()) +
                                                               " was removed before '" +
                                                               bucket->name() + "' could begin",
                                                           {bucket->name(), {}, "submit"})));
    return;
  }
  if (closing_ && id() != kGlobal && operation != nullptr) return operation->Failed(WhyClosed());
  shared_.live.Add(bucket);
  if (!bucket->negotiated() && !closing_) {
    bucket->agreed = true;
    bucket->chunk_bytes = ChunkStream::kDefaultChunkBytes;
    return Agree(bucket);
  }
  if (bucket->gate() != nullptr) return;  // Negotiated once the gate has let it through.
  if (operation == nullptr || operation->MatchesSlot()) {
    Use(bucket->slot).bucket = bucket;
    negotiator_->MarkReady(bucket->slot);
    return;
  }
  if (operation->request().kind == RequestKind::kJoin) {
    join_ = operation;
    return AskToJoin();
  }
  asked_[operation->name()] = operation;
  negotiator_->Ask(operation->request());
}

void ProcessSet::AskToJoin() {
  // What a round that is under way finds ready here must not be asked for again.
  if (join_ == nullptr || negotiator_->round_under_way()) return;
  // Rank 0 has to know all that this rank still waits for: slots do not tell it.
  for (Bucket* bucket : shared_.live.all()) {
    auto* operation = dynamic_cast<Operation*>(bucket);
    if (operation == nullptr || operation->process_set != this || operation->agreed) continue;
    if (operation->slot == kNoSlot || asked_.contains(operation->name())) continue;
    negotiator_->Withdraw(operation->slot);
    asked_[operation->name()] = operation;
    negotiator_->Ask(operation->request());
  }
  asked_[join_->name()] = join_;
  negotiator_->Ask(join_->request());
  join_ = nullptr;
}

void ProcessSet::OnStaged(Bucket* bucket) {
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

void ProcessSet::OnDone(Bucket* bucket) {
  shared_.live.Remove(bucket);
  if (joining_->OnDone(bucket)) return;
  // Of what has no slot nobody will remind the ranks; what has one is kept for the next time.
  if (bucket->slot == kNoSlot) operations_->Retire(static_cast<Operation*>(bucket));
}

void ProcessSet::Withdraw(Bucket* bucket) {
  shared_.live.Remove(bucket);
  bucket->staged = false;
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
  for (const std::uint32_t slot : outcome.ready) {
    const SlotUse& use = Use(slot);
    if (use.gate != nullptr) {
      OnGate(*use.gate, std::ranges::binary_search(outcome.ready, slot + 1));
    } else if (use.bucket != nullptr) {  // Neither: the second slot of a gate.
      Collect(use.bucket);
    }
  }
  for (const Response& response : outcome.responses) OnResponse(response);
  std::ranges::stable_sort(agreed_, std::ranges::greater(), &Bucket::priority);
  for (Bucket* bucket : agreed_) Agree(bucket);
  if (outcome.shutdown) BeginClosing();
  ++(outcome.slow_path ? shared_.gauges.slow_rounds : shared_.gauges.fast_rounds);
  if (shared_.marks_cycles.load(std::memory_order_relaxed)) {
    shared_.recorder.Add(
        {.start_ns = outcome.started_ns, .end_ns = NowNs(), .stage = Stage::kRound});
  }
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
  std::vector<Operation*> waiting;
  for (Bucket* bucket : shared_.live.all()) {
    auto* operation = dynamic_cast<Operation*>(bucket);
    if (operation == nullptr || operation->process_set != this || operation->agreed) continue;
    waiting.push_back(operation);
  }
  for (Operation* operation : waiting) {
    shared_.live.Remove(operation);
    operation->Failed(WhyClosed());
  }
}

void ProcessSet::OnResponse(const Response& response) {
  if (response.kind == Response::Kind::kForget) return OnForget(response.slot);
  if (response.kind == Response::Kind::kJoined) {
    if (response.ranks == std::vector<int>{transport().JobRank(transport().rank())}) {
      joining_->Begin();
    }
    return;
  }
  const auto asked = asked_.find(response.name);
  if (asked == asked_.end()) {  // This rank has joined.
    if (response.kind == Response::Kind::kReady) {
      Bucket* run = joining_->TakePart(response.request.value());
      shared_.live.Add(run);
      Collect(run);
    }
    return;
  }
  Operation* operation = asked->second;
  asked_.erase(asked);
  if (response.kind == Response::Kind::kMismatch) {
    shared_.live.Remove(operation);
    operation->slot = kNoSlot;
    operation->Failed(std::make_exception_ptr(
        Mismatch(response.text, {response.name, response.ranks, "negotiate"})));
    operations_->Retire(operation);
    return;
  }
  operation->Agree(response.slot, response.rows, response.gpus);
  const bool tells = !response.text.empty() && transport().rank() == 0;
  if (tells) shared_.gpu_offers.TellWhyStaged(response.text);
  if (operation->slot != kNoSlot) Use(operation->slot).bucket = operation;
  if (response.kind == Response::Kind::kAllJoined) operation->staged = joining_->End(operation);
  Collect(operation);
}

void ProcessSet::OnForget(std::uint32_t slot) {
  auto* operation = static_cast<Operation*>(Use(slot).bucket);
  slots_[slot] = {};
  if (operation == nullptr) return;
  operation->slot = kNoSlot;
  if (!shared_.live.Contains(operation)) return operations_->Retire(operation);
  // What is agreed on runs to its end and goes then; what asks already has its answer coming.
  if (operation->agreed || asked_.contains(operation->name())) return;
  negotiator_->Withdraw(slot);
  asked_[operation->name()] = operation;
  negotiator_->Ask(operation->request());
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
      shared_.live.Remove(bucket);
      bucket->Done();
      joining_->OnDone(bucket);
    }
  }
}

void ProcessSet::Collect(Bucket* bucket) {
  bucket->agreed = true;
  bucket->chunk_bytes = negotiator_->outcome().fast_network ? ChunkStream::kLargeChunkBytes
                                                            : ChunkStream::kDefaultChunkBytes;
  agreed_.push_back(bucket);
}

void ProcessSet::Agree(Bucket* bucket) {
  --shared_.gauges.depth(Stage::kNegotiate);
  bucket->agreed_ns = NowNs();
  last_agreed_ns_ = bucket->agreed_ns;
  shared_.recorder.Add(bucket->RecordOf(Stage::kNegotiate, bucket->ready_ns, bucket->agreed_ns));
  (bucket->negotiated() ? exchanger_ : free_exchanger_)->Enqueue(bucket);
}

void ProcessSet::Exchanged(Bucket* bucket) {
  StageRecord record = bucket->RecordOfWork(Stage::kExchange, bucket->exchange_ns, NowNs());
  // What the run's exchanges before this one were for has been counted.
  record.bytes_in -= std::exchange(bucket->recorded.wire_bytes, record.bytes_in);
  record.bytes_out -= std::exchange(bucket->recorded.dense_bytes, record.bytes_out);
  shared_.recorder.Add(record);
  bucket->exchange_ns = 0;
  shared_.pipeline.Resume(bucket);
}

}  // namespace weir
