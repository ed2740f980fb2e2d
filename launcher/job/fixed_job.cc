#include "launcher/job/fixed_job.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <span>

#include "launcher/text/seconds.h"
#include "launcher/text/wait_status.h"

namespace weir::launcher {

using supervision::Message;
using supervision::MessageType;

FixedJob::FixedJob(RankPlaces places, JobPolicy policy, Time now, Send send)
    : places_(std::move(places)),
      ranks_(places_.size()),
      policy_(policy),
      assembly_(places_.ranks(), places_.servers(), policy.start_timeout),
      finalization_(places_.size()),
      meeting_(places_.size()),
      send_(std::move(send)),
      ending_(policy.kill_after),
      start_due_(now + policy.start_timeout) {
  SetDeadline();
}

bool FixedJob::over() const {
  return std::ranges::all_of(ranks_, [](const Rank& r) { return r.state == Rank::kOver; });
}

void FixedJob::OnMessage(int rank, const Message& message, Time now) {
  Rank& sender = ranks_[static_cast<std::size_t>(rank)];
  switch (message.type) {
    case MessageType::kHello:
      // A rank that comes when the job is already ending is never started.
      sender.state = ending() ? Rank::kOver : Rank::kRunning;
      if (StartingRanks().empty()) assembly_.Begin(now);
      send_(rank, {.type = ending() ? MessageType::kFinish : MessageType::kWelcome});
      break;
    case MessageType::kExited:
      OnExited(rank, message, now);
      break;
    case MessageType::kStopped:
      MarkOver(rank);
      break;
    case MessageType::kAttach:
      OnAttach(rank, now);
      break;
    case MessageType::kAddress:
      if (!ending()) meeting_.Bring(rank, message.text, send_);
      break;
    case MessageType::kJoined:
      assembly_.Join(rank);
      break;
    case MessageType::kLeave:
      assembly_.Leave(rank);
      meeting_.Leave(rank);
      break;
    case MessageType::kFinalizing:
      finalization_.Ask(rank);
      if (!ending()) sender.settles = now + policy_.settle;
      break;
    case MessageType::kAbort:
      OnAbort(rank, message.text, now);
      break;
    case MessageType::kStatusRequest:
      Broadcast({.type = MessageType::kStatusRequest, .rank = rank});
      break;
    case MessageType::kStatus:
      send_(0, {.type = MessageType::kStatus, .rank = rank, .text = message.text});
      break;
    case MessageType::kHeartbeat:
      OnHeartbeat(rank, message, now);
      break;
    default:
      break;  // Others do not come from supervisors.
  }
  AnswerFinalizing();
  DismissServers(now);
  SetDeadline();
}

bool FixedJob::RanksAreOver() const {
  return std::ranges::all_of(std::span(ranks_).first(places_.ranks()),
                             [](const Rank& r) { return r.state == Rank::kOver; });
}

void FixedJob::DismissServers(Time now) {
  if (ending() || !RanksAreOver()) return;
  // They end by themselves if the ranks had engines and have left.
  for (std::size_t r = places_.ranks(); r < ranks_.size(); ++r) {
    if (ranks_[r].state == Rank::kRunning && !ranks_[r].settles && !ranks_[r].dismissed) {
      ranks_[r].settles = now + policy_.settle;
    }
  }
}

void FixedJob::MarkOver(int rank) {
  ranks_[static_cast<std::size_t>(rank)].state = Rank::kOver;
  finalization_.OnEnded(rank);
}

bool FixedJob::CannotJoin(int rank) const {
  return ranks_[static_cast<std::size_t>(rank)].state == Rank::kOver || finalization_.asks(rank);
}

void FixedJob::AnswerFinalizing() {
  const Finalization::Answer answer = finalization_.TakeAnswer();
  for (const int rank : answer.ranks) {
    send_(rank, {.type = MessageType::kFinalize,
                 .rank = answer.never_will,
                 .code = answer.all_would ? 1 : 0});
  }
}

void FixedJob::OnAttach(int rank, Time now) {
  assembly_.Attach(rank, now);
  if (ending()) return;
  // A rank that has ended, or is about to, cannot come any more, unless it came and the
  // message that says so is on its way.
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    if (!CannotJoin(static_cast<int>(r))) continue;
    ranks_[r].settles = now + policy_.settle;
  }
}

void FixedJob::OnExited(int rank, const Message& message, Time now) {
  MarkOver(rank);
  if (ranks_[static_cast<std::size_t>(rank)].dismissed) return;
  if (const int code = ShellCode(message.code); code != 0) {
    if (cause_ && !cause_->code_is_final && cause_->code_of.value_or(rank) == rank) {
      cause_->code = code;
      cause_->code_is_final = true;
    }
    FailRank(rank, message.text.empty() ? DescribeStatus(message.code) : message.text, code, now);
  } else {
    ranks_[static_cast<std::size_t>(rank)].settles = now + policy_.settle;
  }
}

void FixedJob::OnHeartbeat(int rank, const Message& message, Time now) {
  if (ranks_.size() == 1) return;  // Nobody waits for it.
  if (const auto silence = Silence(message, policy_.heartbeat_timeout))
    FailRank(rank, *silence, 1, now);
}

void FixedJob::OnAbort(int rank, const std::string& reason, Time now) {
  if (cause_) return;
  const std::string absent = places_.Of(assembly_.absent());
  const bool waits = assembly_.waits(rank) && !absent.empty();
  cause_ = {.text = places_.Of(rank) + " ended the job: " + reason +
                    (waits ? "; " + absent + " had not joined it" : ""),
            .code = 1,
            .code_is_final = false,
            .code_of = rank};
  Broadcast({.type = MessageType::kAbort, .rank = rank, .text = reason}, rank);
  Enter(Ending::Phase::kGrace, now + policy_.grace);
}

void FixedJob::OnSupervisorLost(int rank, const std::string& how, Time now) {
  if (ranks_[static_cast<std::size_t>(rank)].state == Rank::kOver) return;
  MarkOver(rank);
  FailRank(rank, how, 1, now);
  AnswerFinalizing();
}

void FixedJob::OnStartTrouble(const StartTrouble& trouble) {
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    Rank& rank = ranks_[r];
    const bool meant = trouble.host.empty() ? static_cast<int>(r) == trouble.rank
                                            : places_.host(r) == trouble.host;
    if (meant && rank.unstarted() && rank.trouble.empty()) rank.trouble = trouble.why;
  }
  BlameTrouble();
}

void FixedJob::BlameTrouble() {
  if (!cause_ || !cause_->yields_to_trouble) return;
  if (const std::string known = KnownTroubles(); !known.empty()) {
    cause_ = {.text = known, .code = 1};
  }
}

void FixedJob::OnStarterEnded(const std::string& name, const std::vector<int>& ranks,
                              const std::string& advice, int wait_status, Time now) {
  const auto state_of = [this](int rank) { return ranks_[static_cast<std::size_t>(rank)].state; };
  std::vector<int> unstarted = ranks;
  std::erase_if(unstarted, [&](int rank) { return state_of(rank) != Rank::kStarting; });
  const int code = ShellCode(wait_status);
  const std::string how = name + " ended with " + DescribeStatus(wait_status);
  if (!unstarted.empty()) {
    if (!cause_ && !KnownTroubles().empty()) cause_ = {.text = KnownTroubles(), .code = 1};
    if (!cause_)
      cause_ = {.text = how + " before it had started " + places_.Of(unstarted) + "; " + advice,
                .code = 1};
    GiveUpOnStarting();
  }
  if (over()) return;
  const bool all_over =
      std::ranges::all_of(ranks, [&](int r) { return state_of(r) == Rank::kOver; });
  if (all_over && unstarted.empty()) return;
  if (!cause_ && ranks.size() < ranks_.size()) {  // It was one host's.
    const auto lost =
        std::ranges::find_if(ranks, [&](int r) { return state_of(r) != Rank::kOver; });
    return FailRank(*lost, how, code ? code : 1, now);
  }
  // MPI_Abort, or somebody ended it. The supervisors see it too and end their programs at once; the
  // rank that called MPI_Abort may still report the exit code that it chose.
  if (!cause_) {
    cause_ = {.text = how + ": a rank called MPI_Abort, or " + name + " was ended from outside",
              .code = code ? code : 1,
              .text_is_final = false,
              .code_is_final = false};
  }
  Enter(Ending::Phase::kTerminating, now + policy_.grace);
}

void FixedJob::OnLauncherFailed(const std::string& how, Time now) {
  if (!cause_) cause_ = {.text = how, .code = 1};
  GiveUpOnStarting();
  Enter(Ending::Phase::kTerminating, now + policy_.grace);
}

void FixedJob::OnInterrupt(int signal, Time now) {
  if (!cause_) {
    cause_ = {.text = "received " + DescribeStatus(signal), .code = 128 + signal};
  }
  GiveUpOnStarting();
  const bool again = ending_.phase() >= Ending::Phase::kTerminating;
  Enter(again ? Ending::Phase::kKilling : Ending::Phase::kTerminating,
        now + (again ? policy_.kill_after : policy_.grace));
}

std::string FixedJob::RecordFlights() {
  ++flight_recordings_;
  std::vector<int> asked;
  for (int r = 0; r < static_cast<int>(places_.ranks()); ++r) {
    const bool running = ranks_[static_cast<std::size_t>(r)].state == Rank::kRunning;
    if (!running || !assembly_.has_engine(r)) continue;
    send_(r, {.type = MessageType::kRecordFlight, .code = flight_recordings_});
    asked.push_back(r);
  }
  return places_.Of(asked);
}

void FixedJob::Tick(Time now) {
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    if (!ranks_[r].settles || now < *ranks_[r].settles) continue;
    ranks_[r].settles.reset();
    Settle(static_cast<int>(r), now);
  }
  if (!ending() && assembly_.deadline() && now >= *assembly_.deadline()) {
    cause_ = {.text = AssemblyTrouble(), .code = 1};
    Enter(Ending::Phase::kTerminating, now + policy_.grace);
  }
  if (const std::string missing = StartingRanks();
      !ending() && !missing.empty() && now >= start_due_) {
    const std::string known = KnownTroubles();
    cause_ = {
        .text = missing + " did not start within the start timeout of " +
                fmt::format("{}", InSeconds(policy_.start_timeout)) + " s; " +
                (known.empty() ? "is the host reachable by ssh, and weirrun installed there at "
                                 "the same path?"
                               : known),
        .code = 1};
    GiveUpOnStarting();
    Enter(Ending::Phase::kTerminating, now + policy_.grace);
  }
  if (const auto next = ending_.Due(now)) Enter(next->phase, next->until);
  SetDeadline();
}

void FixedJob::FailRank(int rank, const std::string& how, int code, Time now) {
  if (cause_ && !cause_->text_is_final)
    *cause_ = {.text = places_.Of(rank) + ": " + how, .code = code};
  if (cause_) return;
  cause_ = {.text = places_.Of(rank) + ": " + how,
            .code = code,
            .yields_to_trouble = assembly_.waits(rank) && !StartingRanks().empty()};
  BlameTrouble();
  Broadcast({.type = MessageType::kPeerLost,
             .rank = rank,
             .host = places_.host(static_cast<std::size_t>(rank)),
             .text = how},
            rank);
  GiveUpOnStarting();
  Enter(Ending::Phase::kGrace, now + policy_.grace);
}

void FixedJob::Settle(int rank, Time now) {
  const auto goes_on = [this](int other) {
    return assembly_.has_engine(other) &&
           ranks_[static_cast<std::size_t>(other)].state == Rank::kRunning;
  };
  const bool over = ranks_[static_cast<std::size_t>(rank)].state == Rank::kOver;
  if (places_.serves(rank) && RanksAreOver()) {
    if (over) return;
    ranks_[static_cast<std::size_t>(rank)].dismissed = true;
    return send_(rank, {.type = MessageType::kTerminate});
  }
  if (over && assembly_.has_engine(rank)) {
    assembly_.Leave(rank);  // Nobody waits for others in it any more.
    const auto others = std::views::iota(0, static_cast<int>(ranks_.size()));
    if (std::ranges::none_of(others, goes_on)) return;
    return FailRank(rank, "exited without leaving (exit code 0)", 1, now);
  }
  const auto waiting = assembly_.first_waiting();
  if (!waiting || !goes_on(*waiting)) return;
  FailRank(rank,
           std::string(over ? "exited (exit code 0)" : "is ending") +
               " and so cannot join the job, where " + places_.Of(*waiting) + " waits for it",
           1, now);
}

std::string FixedJob::AssemblyTrouble() const {
  const auto waiting = assembly_.first_waiting();
  const std::string within =
      " within the start timeout of " + fmt::format("{}", InSeconds(policy_.start_timeout)) + " s";
  const std::string absent = places_.Of(assembly_.absent());
  if (absent.empty()) {
    return "the ranks have all come but did not meet" + within +
           "; can all hosts reach each other (--network-interfaces), and have all ranks one "
           "WEIR_TRANSPORT?";
  }
  return absent + " did not join the job (init() or Engine::Create)" + within + ", where " +
         places_.Of(*waiting) + " waits; --start-timeout gives it longer";
}

void FixedJob::Enter(Ending::Phase phase, Time until) {
  if (!ending_.Enter(phase, until)) return;
  finalization_.GiveUp();
  AnswerFinalizing();
  if (phase == Ending::Phase::kTerminating) Broadcast({.type = MessageType::kTerminate});
  if (phase == Ending::Phase::kKilling) Broadcast({.type = MessageType::kKill});
  if (phase == Ending::Phase::kGivenUp) {
    for (std::size_t r = 0; r < ranks_.size(); ++r) MarkOver(static_cast<int>(r));
  }
  SetDeadline();
}

void FixedJob::Broadcast(const Message& message, int except) {
  for (int r = 0; r < static_cast<int>(ranks_.size()); ++r) {
    const bool running = ranks_[static_cast<std::size_t>(r)].state == Rank::kRunning;
    if (running && r != except) send_(r, message);
  }
}

void FixedJob::SetDeadline() {
  deadline_.reset();
  if (over()) return;
  const auto no_later_than = [this](const std::optional<Time>& time) {
    if (time) deadline_ = std::min(deadline_.value_or(*time), *time);
  };
  no_later_than(ending_.deadline());
  if (!ending() && !StartingRanks().empty()) no_later_than(start_due_);
  if (!ending()) no_later_than(assembly_.deadline());
  for (const Rank& rank : ranks_) {
    no_later_than(rank.settles);
  }
}

void FixedJob::GiveUpOnStarting() {
  for (Rank& rank : ranks_) {
    if (rank.state != Rank::kStarting) continue;
    rank.state = Rank::kOver;
    rank.given_up = true;
  }
}

std::string FixedJob::StartingRanks() const {
  std::vector<int> starting;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    if (ranks_[r].state == Rank::kStarting) starting.push_back(static_cast<int>(r));
  }
  return places_.Of(starting);
}

std::string FixedJob::KnownTroubles() const {
  std::map<std::string, std::vector<int>> by_reason;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const Rank& rank = ranks_[r];
    if (!rank.unstarted() || rank.trouble.empty()) continue;
    by_reason[rank.trouble].push_back(static_cast<int>(r));
  }
  std::string text;
  for (const auto& [why, ranks] : by_reason) {
    text += (text.empty() ? "" : "; ") + places_.Of(ranks) + " did not start: " + why;
  }
  return text;
}

}  // namespace weir::launcher
