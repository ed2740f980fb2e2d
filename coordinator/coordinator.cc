#include "coordinator/coordinator.h"

#include <algorithm>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/thread_name.h"
#include "coordinator/step_gate.h"
#include "weir/error.h"

namespace weir {
namespace {

// Exchanges under way at once: enough to keep the link busy while one of them ends.
constexpr std::size_t kExchangesAtOnce = 4;

int WorkerCount(const Settings& settings) {
  return settings.pipeline == PipelineMode::kSerial ? 0 : 1;
}

Negotiator::Timing TimingOf(const Settings& settings) {
  Negotiator::Timing timing;
  timing.longest_pause_ns = static_cast<std::int64_t>(settings.cycle_time_ms * 1e6);
  timing.first_pause_ns = std::min(timing.first_pause_ns, timing.longest_pause_ns);
  return timing;
}

}  // namespace

Coordinator::Coordinator(const Settings& settings, Environment environment)
    : settings_(settings), environment_(std::move(environment)) {
  std::promise<void> connected;
  std::future<void> is_connected = connected.get_future();
  pipeline_ = std::make_unique<Pipeline>(
      WorkerCount(settings_), environment_.recorder,
      Pipeline::Callbacks{
          [this](Bucket* bucket) { inbox_.Post(InboxEvent::Kind::kStaged, bucket); },
          [this](Bucket* bucket) {
            // First the event: once the handles are fulfilled the bucket may be submitted again.
            inbox_.Post(InboxEvent::Kind::kDone, bucket);
            bucket->Done();
          },
          [this](Bucket* bucket, std::exception_ptr error) {
            inbox_.Post({.kind = InboxEvent::Kind::kFailed, .bucket = bucket, .error = error});
          }});
  thread_ = std::jthread([this, promise = std::move(connected)]() mutable {
    ThreadMain(std::move(promise));
  });
  is_connected.get();
  if (environment_.membership != nullptr) {
    environment_.membership->Listen([this](const MembershipEvent& event) {
      inbox_.Post({.kind = InboxEvent::Kind::kMembership, .membership = event});
    });
  }
}

Coordinator::~Coordinator() {
  Shutdown();
  if (environment_.membership != nullptr) environment_.membership->Listen(nullptr);
  if (thread_.joinable()) thread_.join();
  pipeline_->Stop();
}

void Coordinator::ThreadMain(std::promise<void> connected) {
  NameThread("weir-network");
  try {
    ConnectNetwork();
  } catch (...) {
    connected.set_exception(std::current_exception());
    return;
  }
  connected.set_value();
  bool failed = false;
  try {
    Loop();
    Close();
  } catch (...) {
    failed = true;
    Collapse(std::current_exception());
  }
  all_ended_.set_value();
  negotiator_.reset();
  exchanger_.reset();
  transport_.reset();
  if (environment_.disconnect) environment_.disconnect(failed);
}

void Coordinator::ConnectNetwork() {
  transport_ = environment_.connect();
  rank_ = transport_->rank();
  size_ = transport_->size();
  negotiator_ = std::make_unique<Negotiator>(
      *transport_, static_cast<std::uint32_t>(settings_.cache_capacity), TimingOf(settings_));
  exchanger_ = std::make_unique<Exchanger>(kExchangesAtOnce,
                                           [this](Bucket* bucket) { Exchanged(bucket); });
}

void Coordinator::Loop() {
  while (true) {
    bool moved = HandleInbox();
    if (failure_) std::rethrow_exception(failure_);
    const std::int64_t now = NowNs();
    moved = PollNegotiation(now) || moved;
    moved = exchanger_->Poll(now) || moved;
    if (closing_ && std::ranges::none_of(live_, &Bucket::agreed)) return;
    if (!moved) Pause(now);
  }
}

bool Coordinator::HandleInbox() {
  events_.clear();
  inbox_.Drain(events_);
  for (const InboxEvent& event : events_) Handle_(event);
  return !events_.empty();
}

void Coordinator::Handle_(const InboxEvent& event) {
  switch (event.kind) {
    case InboxEvent::Kind::kReady:
      return OnReady(event.bucket);
    case InboxEvent::Kind::kStaged:
      return OnStaged(event.bucket);
    case InboxEvent::Kind::kDone:
      return RemoveLive(event.bucket);
    case InboxEvent::Kind::kMembership:
      return OnMembership(event.membership);
    case InboxEvent::Kind::kShutdown:
      return negotiator_->AnnounceShutdown();
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
  bucket->live_index = live_.size();
  live_.push_back(bucket);
}

void Coordinator::RemoveLive(Bucket* bucket) {
  const std::size_t index = bucket->live_index;
  WEIR_CHECK(index < live_.size() && live_[index] == bucket);
  live_[index] = live_.back();
  live_[index]->live_index = index;
  live_.pop_back();
}

void Coordinator::OnReady(Bucket* bucket) {
  AddLive(bucket);
  bucket->agreed = false;
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
  if (outcome.shutdown) closing_ = true;
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
  for (Bucket* bucket : gate.waiting()) {
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
  bucket->agreed_ns = NowNs();
  environment_.recorder->Add({.start_ns = bucket->ready_ns,
                              .end_ns = bucket->agreed_ns,
                              .step = bucket->traffic().step,
                              .bucket = bucket->record_index,
                              .stage = Stage::kNegotiate});
  exchanger_->Enqueue(bucket);
}

void Coordinator::Exchanged(Bucket* bucket) {
  const Bucket::Traffic traffic = bucket->traffic();
  environment_.recorder->Add({.start_ns = bucket->exchange_ns,
                              .end_ns = NowNs(),
                              .step = traffic.step,
                              .bytes_in = traffic.wire_bytes,
                              .bytes_out = traffic.dense_bytes,
                              .bucket = bucket->record_index,
                              .density = traffic.density,
                              .threshold = traffic.threshold,
                              .stage = Stage::kExchange});
  bucket->staged = false;
  pipeline_->Resume(bucket);
}

void Coordinator::Pause(std::int64_t now_ns) {
  const std::uint64_t bytes = transport_->bytes_sent() + transport_->bytes_received();
  const bool busy = exchanger_->under_way();
  if (bytes != bytes_seen_ || !(busy || negotiator_->round_under_way())) {
    bytes_seen_ = bytes;
    progress_ns_ = now_ns;
  }
  if (busy || negotiator_->round_under_way()) {
    waiter_.Pause(now_ns, progress_ns_);
  } else {
    waiter_.Sleep(closing_ ? 0 : negotiator_->next_round_ns(busy));
  }
}

void Coordinator::OnMembership(const MembershipEvent& event) {
  if (failure_) return;
  const std::string who = "rank " + std::to_string(event.rank) +
                          (event.host.empty() ? "" : " on " + event.host);
  switch (event.kind) {
    case MembershipEvent::Kind::kPeerLost:
      failure_ = std::make_exception_ptr(
          PeerLost(who + " is lost: " + event.text, {"", {event.rank}, "membership"}));
      return;
    case MembershipEvent::Kind::kAbort:
      failure_ = std::make_exception_ptr(
          PeerLost(who + " ended the job: " + event.text, {"", {event.rank}, "membership"}));
      return;
    case MembershipEvent::Kind::kLauncherLost:
      failure_ = std::make_exception_ptr(
          PeerLost("the launcher of this job is gone: " + event.text, {"", {}, "membership"}));
      return;
    case MembershipEvent::Kind::kStatusRequest:
    case MembershipEvent::Kind::kStatus:
      return;
  }
}

void Coordinator::Close() {
  const auto reason = std::make_exception_ptr(
      ShutDown("Weir has been shut down. This was caused by a call of Shutdown, here or on another "
               "rank; nothing can be submitted any more."));
  SetEnded(reason);
  EndRuns(reason);
  if (environment_.membership != nullptr) environment_.membership->Leave();
}

void Coordinator::EndRuns(const std::exception_ptr& error) {
  pipeline_->Stop();
  HandleInbox();  // Runs that ended meanwhile are not live any more.
  for (Bucket* bucket : live_) bucket->Failed(error);
  live_.clear();
  handles_.FailAll(error);
}

void Coordinator::Collapse(const std::exception_ptr& error) {
  SetEnded(error);
  if (failure_is_ours_ && environment_.membership != nullptr) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& reason) {
      environment_.membership->Abort(reason.what());
    }
  }
  negotiator_->Cancel();
  exchanger_->Cancel();
  EndRuns(error);
}

void Coordinator::SetEnded(const std::exception_ptr& error) {
  std::lock_guard lock(ended_mutex_);
  if (ended_) return;
  ended_error_ = error;
  ended_ = true;
}

void Coordinator::ThrowIfEnded() const {
  if (!ended_.load(std::memory_order_acquire)) return;
  std::lock_guard lock(ended_mutex_);
  std::rethrow_exception(ended_error_);
}

void Coordinator::FailIfEnded() {
  if (!ended_.load(std::memory_order_acquire)) return;
  std::lock_guard lock(ended_mutex_);
  handles_.FailAll(ended_error_);
}

Handle Coordinator::Submit(const std::string& name, Operation::Submission submission) {
  ThrowIfEnded();
  Operation* operation = nullptr;
  Handle handle = kNoHandle;
  {
    std::lock_guard lock(operations_mutex_);
    std::unique_ptr<Operation>& entry = operations_[name];
    if (!entry) {
      entry = std::make_unique<Operation>(name, *transport_, handles_);
      NameBucket(*entry, std::string(Name(submission.request.kind)), "dense", "none");
    }
    operation = entry.get();
    if (operation->busy()) {
      throw InvalidArgument(
          "Requested to allreduce, allgather, or broadcast a tensor with the same name as another "
          "tensor that is currently being processed. If you want to request another tensor, use a "
          "different tensor name. (tensor '" + name + "')",
          {name, {}, "submit"});
    }
    handle = handles_.Create();
    operation->Submit(std::move(submission), handle);
  }
  operation->ready_ns = NowNs();
  operation->staged = true;
  operation->cursor = 0;
  inbox_.Post(InboxEvent::Kind::kReady, operation);
  FailIfEnded();
  return handle;
}

const Operation& Coordinator::Find(const std::string& name) {
  std::lock_guard lock(operations_mutex_);
  return *operations_.at(name);
}

void Coordinator::NameBucket(Bucket& bucket, const std::string& op, const std::string& route,
                             const std::string& compressor) {
  bucket.record_index = next_record_index_.fetch_add(1);
  environment_.names->Set(bucket.record_index,
                          {.name = bucket.name(), .op = op, .route = route, .compressor = compressor});
}

void Coordinator::Run(Bucket* bucket) {
  bucket->ready_ns = NowNs();
  inbox_.Post(InboxEvent::Kind::kReady, bucket);
  pipeline_->Begin(bucket);
  FailIfEnded();
}

void Coordinator::Wait(Handle handle) {
  const auto deadline = std::chrono::steady_clock::now() +
                        std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                            std::chrono::duration<double>(settings_.timeout_seconds));
  if (handles_.Wait(handle, deadline) == HandleTable::WaitResult::kDone) return;
  Fail(std::make_exception_ptr(TimedOut("a wait passed its deadline of " +
                                            std::to_string(settings_.timeout_seconds) +
                                            " s (WEIR_TIMEOUT)",
                                        {"", {rank()}, "wait"})));
  handles_.Wait(handle, HandleTable::Deadline::max());
}

void Coordinator::WaitIfKnown(Handle handle) {
  if (handles_.IsKnown(handle)) Wait(handle);
}

void Coordinator::WaitUntilEnded() { all_ended_future_.wait(); }

void Coordinator::Fail(const std::exception_ptr& error) {
  inbox_.Post({.kind = InboxEvent::Kind::kAbort, .error = error});
}

void Coordinator::Shutdown() { inbox_.Post(InboxEvent::Kind::kShutdown, nullptr); }

}  // namespace weir
