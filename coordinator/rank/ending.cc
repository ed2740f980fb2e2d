#include <fmt/core.h>

#include <algorithm>

#include "common/clock.h"
#include "common/log.h"
#include "coordinator/rank/coordinator.h"
#include "coordinator/work/abort_text.h"
#include "metrics/last_stages.h"
#include "weir/error.h"

// How a rank's work ends: in good order, or because it or another rank failed.

namespace weir {

namespace {

// A dying process may still write its core file.
constexpr std::int64_t kVerdictNs = 2'000'000'000;

/// What a message calls a bucket.
std::string Quoted(const Bucket& bucket) {
  return "'" + bucket.name() + "'" + bucket.process_set->Suffix();
}

bool IsInvalidArgument(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const InvalidArgument&) {
    return true;
  } catch (...) {
    return false;
  }
}

std::string WhatOf(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& reason) {
    return reason.what();
  }
}

AbortReason ReasonOf(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const PeerLost&) {
    return AbortReason::kPeerLost;
  } catch (const TimedOut&) {
    return AbortReason::kTimedOut;
  } catch (const Corrupt&) {
    return AbortReason::kCorrupt;
  } catch (...) {
    return AbortReason::kOther;
  }
}

}  // namespace

std::string Coordinator::failure() const {
  const std::lock_guard lock(ended_mutex_);
  return failed_ ? WhatOf(ended_error_) : "";
}

void Coordinator::EndStalled(const std::string& reason) {
  failure_ = std::make_exception_ptr(TimedOut(reason, {"", {}, "negotiate"}));
  failure_is_ours_ = true;
}

void Coordinator::EndLate(const std::string& deadline) {
  if (failure_) return;
  const std::string silent = stalls_->Silent();
  failure_ = std::make_exception_ptr(
      TimedOut(fmt::format("a wait of rank {} passed its deadline of {}{}{}", rank_, deadline,
                           During(), silent.empty() ? "" : "; " + silent),
               UnderWay({rank_})));
  failure_is_ours_ = true;
}

void Coordinator::OnMembership(const MembershipEvent& event) {
  if (failure_) return;
  const std::string who = NameOf(event, size_);
  switch (event.kind) {
    case MembershipEvent::Kind::kPeerLost:
      failure_ = std::make_exception_ptr(
          PeerLost(who + " is lost: " + event.text + During(), UnderWay({event.rank})));
      return;
    case MembershipEvent::Kind::kAbort:
      failure_ = ErrorOfAbort(event, who, During(), UnderWay({event.rank}));
      return;
    case MembershipEvent::Kind::kLauncherLost:
      failure_ = std::make_exception_ptr(
          PeerLost("the launcher of this job is gone: " + event.text + During(), UnderWay({})));
      return;
    case MembershipEvent::Kind::kStatusRequest:
      stalls_->Answer(NowNs(), Doing());
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

ErrorContext Coordinator::UnderWay(std::vector<int> ranks) const {
  if (live_.all().empty()) return {"", std::move(ranks), "idle"};
  const Bucket& bucket = *live_.all().front();
  return {bucket.name(), std::move(ranks), bucket.agreed ? "exchange" : "negotiate"};
}

std::string Coordinator::During() const {
  if (live_.all().empty()) return "";
  return " (phase " + UnderWay({}).phase + " of " + Quoted(*live_.all().front()) + ")";
}

void Coordinator::WriteLastWords(const std::exception_ptr& error) const {
  std::string text;
  for (const Bucket* bucket : live_.all()) {
    if (!text.empty()) text += ", ";
    text += Quoted(*bucket) + (bucket->agreed ? " exchanging" : " waiting for other ranks");
  }
  LogError("ends: {} (under way: {}; last stages: {})", WhatOf(error),
           text.empty() ? "nothing" : text,
           LastStages(*environment_.recorder, *environment_.names, NowNs()));
}

void Coordinator::RecordFlight(const char* event, const std::string& reason, int request) {
  constexpr std::size_t kMostUnderWay = 256;  // The oldest; a job that hangs waits for them first.
  if (!environment_.record_flight) return;
  FlightReport report{.event = event, .reason = reason, .time_ns = NowNs()};
  for (const Bucket* bucket : live_.all()) {
    // For these nobody waits.
    if (!bucket->agreed && (bucket->patient || !bucket->negotiated())) continue;
    if (report.under_way.size() == kMostUnderWay) break;
    report.under_way.push_back({.name = bucket->name(),
                                .process_set = bucket->process_set->id(),
                                .agreed = bucket->agreed,
                                .since_ns = bucket->agreed ? bucket->agreed_ns : bucket->ready_ns});
  }
  report.last_finished = last_finished_;
  report.request = request;
  report.joined = Joined();
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
  const auto reason = std::make_exception_ptr(ShutDown(
      "Weir has been shut down: " + who +
      " called Shutdown or destroyed its engine. Nothing can be submitted any more" + During()));
  // Before the program may find that the job has ended, and destroy its groups.
  for (ProcessSet* set : sets_->own()) set->joining().Close();
  // Where this rank has not called Shutdown, who waits for an exchange is disappointed.
  const bool is_broken_off =
      shutdown_deadline_ns_ == 0 && std::ranges::any_of(live_.all(), [](const Bucket* bucket) {
        return !bucket->patient && bucket->negotiated();
      });
  SetEnded(reason, is_broken_off);
  EndRuns(reason);
  if (environment_.membership != nullptr) environment_.membership->Leave();
}

void Coordinator::EndRuns(const std::exception_ptr& error) {
  pipeline_->Stop();
  HandleInbox();  // Runs that ended meanwhile are not live any more.
  for (Bucket* bucket : live_.all()) {
    if (bucket->exchange_ns != 0) {
      StageRecord record = bucket->RecordOf(Stage::kExchange, bucket->exchange_ns, NowNs());
      record.ok = false;
      environment_.recorder->Add(record);
    }
    bucket->Failed(error);
  }
  live_.Clear();
  handles_.FailAll(error);
}

void Coordinator::CloseInbox() {
  events_.clear();
  inbox_.Close(events_);
  for (const InboxEvent& event : events_) {
    if (event.kind == InboxEvent::Kind::kReady) event.bucket->Failed(ended_error());
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
  return failure_ ? failure_ : error;
}

void Coordinator::AbandonStart(const std::exception_ptr& error) {
  // After a mistake of this rank's nothing has happened yet, and the program may go on without an
  // engine.
  if (environment_.membership == nullptr || IsInvalidArgument(error)) return;
  environment_.membership->Abort(AbortText(error));
}

void Coordinator::Collapse(const std::exception_ptr& error) {
  SetEnded(error, true);
  WriteLastWords(error);
  const AbortReason kind = ReasonOf(error);
  gauges_.CountAbort(kind);
  // What the transport threw is this rank's own discovery as well.
  if (!failure_) failure_is_ours_ = true;
  if (failure_is_ours_ && kind == AbortReason::kCorrupt) ++gauges_.checksum_failures;
  if (failure_is_ours_ && environment_.membership != nullptr) {
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
