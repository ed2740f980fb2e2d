#include "launcher/job/elastic_job.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "common/supervision/rank_totals.h"
#include "common/text/parse_number.h"
#include "launcher/text/seconds.h"
#include "launcher/text/wait_status.h"
#include "launcher/text/words.h"
#include "weir/error.h"

namespace weir::launcher {
namespace {

using supervision::Message;
using supervision::MessageType;

/// True if these are the totals of a rank that has taken a step.
bool HasSteps(const std::string& totals) {
  try {
    return ParseRankTotals(totals).steps() > 0;
  } catch (const Corrupt&) {
    return false;
  }
}

}  // namespace

ElasticJob::ElasticJob(const std::vector<Host>& hosts, const std::vector<std::string>& started,
                       JobPolicy policy, ElasticPolicy elastic, Time now, Send send, Start start,
                       std::function<void(const std::string&)> say)
    : policy_(policy),
      elastic_(elastic),
      pool_(elastic.cooldown),
      send_(std::move(send)),
      start_(std::move(start)),
      say_(std::move(say)),
      ending_(policy.kill_after),
      epoch_(send_) {
  pool_.Update(hosts);
  for (const std::string& host : started) {
    processes_.Add({.host = host, .start_due = now + policy.start_timeout});
  }
}

void ElasticJob::OnMessage(int process, const Message& message, Time now) {
  Process& sender = processes_.At(process);
  switch (message.type) {
    case MessageType::kHello:
      // It may have been given up meanwhile.
      if (ending() || sender.state == Process::kOver) {
        sender.state = Process::kOver;
        send_(process, {.type = MessageType::kFinish});
      } else {
        sender.state = Process::kRunning;
        send_(process, {.type = MessageType::kWelcome});
      }
      break;
    case MessageType::kExited:
      OnExited(process, message, now);
      break;
    case MessageType::kStopped:
      OnStopped(process, now);
      break;
    case MessageType::kAttach:
      OnAttach(process, now);
      break;
    case MessageType::kAddress:
      if (!ending()) epoch_.Bring(process, message.text);
      break;
    case MessageType::kJoined:
      OnJoined(process);
      break;
    case MessageType::kReady:
      OnReady(process);
      break;
    case MessageType::kTotals:
      if (!futility_.done() && HasSteps(message.text)) futility_.OnChange();
      return;
    case MessageType::kLeave:
      OnLeave(process, now);
      break;
    case MessageType::kAbort:
      OnAbort(process, message.text, now);
      break;
    case MessageType::kHeartbeat:
      OnHeartbeat(process, message);
      return;
    case MessageType::kUnheard:
      OnUnheard(process, message);
      return;
    case MessageType::kStatusRequest:
      epoch_.Tell({.type = MessageType::kStatusRequest, .rank = epoch_.RankOf(process)});
      break;
    case MessageType::kStatus:
      if (epoch_.number() == 0) break;
      epoch_.TellRank(
          0, {.type = MessageType::kStatus, .rank = epoch_.RankOf(process), .text = message.text});
      break;
    default:
      return;  // What concerns MPI alone.
  }
  DealIfComplete(now);
}

void ElasticJob::OnAttach(int process, Time now) {
  epoch_.Remove(process);
  const bool is_new = epoch_.number() > 0 && processes_.At(process).rank < 0;
  if (is_new && finished_) return Dismiss(process, now);  // Nobody is left to meet.
  processes_.At(process).waits = true;
  if (!is_new && !assembling_) assembling_ = now;
  if (!std::exchange(attached_, true)) MissUnjoined(now);
  if (is_new && epoch_.whole()) epoch_.Tell({.type = MessageType::kHostsUpdated});
}

void ElasticJob::OnJoined(int process) {
  epoch_.Join(process);
  if (!epoch_.whole() || !epoch_.Unmet().empty()) return;
  met_ = true;
  if (processes_.Those(&Process::waits).empty()) assembling_.reset();
}

void ElasticJob::OnReady(int process) {
  processes_.At(process).holds_state = true;
  futility_.OnChange();
  // Those that should go may have waited for somebody who has what they have.
  const auto stays_too_long = [this](int p) { return processes_.At(p).unwanted; };
  if (std::ranges::any_of(epoch_.Present(), stays_too_long)) {
    epoch_.Tell({.type = MessageType::kHostsUpdated});
  }
}

void ElasticJob::OnHeartbeat(int process, const Message& message) {
  if (ending() || processes_.Alive().size() == 1) return;  // Nobody waits for it.
  if (const auto silence = Silence(message, policy_.heartbeat_timeout)) Condemn(process, *silence);
}

void ElasticJob::OnUnheard(int process, const Message& message) {
  if (!epoch_.whole() || epoch_.RankOf(process) < 0) return;
  if (message.code == 0) return parting_.Forget(process);
  std::set<int> others;
  for (const std::string& word : Words(message.text, ',')) {
    const auto rank = ParseNumber<int>(word);
    const auto other = rank ? epoch_.ProcessOf(*rank) : std::nullopt;
    if (other) others.insert(*other);
  }
  if (message.code == 1) return parting_.Report(process, std::move(others));
  for (const int other : others) {
    parting_.Accuse(processes_.At(process).host, processes_.At(other).host, other);
    futility_.OnUnreached(processes_.NameOf(other));
  }
}

void ElasticJob::OnAbort(int process, const std::string& reason, Time now) {
  const int rank = epoch_.RankOf(process);
  if (ending() || !epoch_.whole() || rank < 0) return;
  if (!failure_)
    failure_ = {.text = processes_.NameOf(process) + " ended the job: " + reason, .code = 1};
  PartHosts();
  Break(process, {.type = MessageType::kAbort, .rank = rank, .text = reason}, now);
  EndIfFutile(process, reason, now);
}

void ElasticJob::EndIfFutile(int process, const std::string& reason, Time now) {
  const auto goes = [this](int p) { return !processes_.At(p).condemned.empty(); };
  if (std::ranges::any_of(processes_.Alive(), goes) || !futility_.OnEnd(now)) return;
  if (CondemnNewcomers(reason)) return;
  const std::string& whom = futility_.unreached();
  Fail({.text = fmt::format(
            "{}{}: {}; {} epochs in a row have ended so, before a rank was ready{} give the "
            "network with --network-interface, or look at UCX_TLS and UCX_NET_DEVICES; without "
            "--min-np, --transport mpi is another way",
            processes_.NameOf(process), whom.empty() ? "" : " does not reach " + whom, reason,
            Futility::kMost, whom.empty() ? "; if ranks do not reach each other," : ";"),
        .code = 1},
       now);
}

void ElasticJob::Break(int process, const Message& message, Time now) {
  epoch_.Break(process, message);
  parting_.Clear();
  assembling_ = now;
}

void ElasticJob::OnLauncherFailed(const std::string& how, Time now) {
  if (!cause_) cause_ = {.text = how, .code = 1};
  Enter(Ending::Phase::kTerminating, now + policy_.grace);
}

void ElasticJob::OnInterrupt(int signal, Time now) {
  if (!cause_) cause_ = {.text = "received " + DescribeStatus(signal), .code = 128 + signal};
  const bool again = ending_.phase() >= Ending::Phase::kTerminating;
  Enter(again ? Ending::Phase::kKilling : Ending::Phase::kTerminating,
        now + (again ? policy_.kill_after : policy_.grace));
}

std::string ElasticJob::RecordFlights() {
  ++flight_recordings_;
  epoch_.Tell({.type = MessageType::kRecordFlight, .code = flight_recordings_});
  return processes_.NamesOf(epoch_.Present());
}

void ElasticJob::Tick(Time now) {
  last_tick_ = now;
  for (int p = 0; p < processes_.size(); ++p) {
    if (!processes_.At(p).settles || now < *processes_.At(p).settles) continue;
    processes_.At(p).settles.reset();
    Settle(p, now);
  }
  for (int p = 0; p < processes_.size() && !ending(); ++p) {
    if (processes_.At(p).state != Process::kStarting || now < processes_.At(p).start_due) continue;
    Lose(p,
         fmt::format("did not start within the start timeout of {} s{}",
                     InSeconds(policy_.start_timeout),
                     processes_.At(p).trouble.empty() ? "" : ": " + processes_.At(p).trouble),
         1, now);
  }
  if (!ending() && assembling_ && now >= AssemblyDue()) OnLate(now);
  for (int p = 0; p < processes_.size(); ++p) {
    std::optional<Time>& due = processes_.At(p).kill_due;
    if (!due || now < *due || processes_.At(p).state == Process::kOver) continue;
    due.reset();
    send_(p, {.type = MessageType::kKill});
  }
  Grow(now);
  if (const auto next = ending_.Due(now)) Enter(next->phase, next->until);
  DealIfComplete(now);
}

std::optional<Time> ElasticJob::deadline() const {
  if (over()) return {};
  std::optional<Time> first = ending_.deadline();
  if (!first) first = pool_.next_return(last_tick_);
  const auto no_later_than = [&first](Time time) { first = std::min(first.value_or(time), time); };
  for (int i = 0; i < processes_.size(); ++i) {
    const Process& p = processes_.At(i);
    if (p.settles) no_later_than(*p.settles);
    if (p.kill_due && p.state != Process::kOver) no_later_than(*p.kill_due);
    if (p.state == Process::kStarting && !ending()) no_later_than(p.start_due);
  }
  if (assembling_ && !ending()) no_later_than(AssemblyDue());
  if (futility_.rests_until() > last_tick_) no_later_than(futility_.rests_until());
  return first;
}

bool ElasticJob::over() const { return processes_.Alive().empty(); }

std::vector<int> ElasticJob::ranks() const {
  std::vector<int> ranks;
  for (int p = 0; p < processes_.size(); ++p) ranks.push_back(processes_.RankOf(p));
  return ranks;
}

int ElasticJob::exit_code() const {
  if (cause_) return cause_->code;
  return finished_ || !over() || SomeEndedWell() ? 0 : failure_ ? failure_->code : 1;
}

std::string ElasticJob::verdict() const {
  if (cause_) return cause_->text;
  if (finished_ || !over() || SomeEndedWell()) return "";
  return failure_ ? failure_->text : "all ranks have left, and none has finished";
}

void ElasticJob::Fail(const Failure& failure, Time now) {
  if (!cause_) cause_ = failure;
  Enter(Ending::Phase::kGrace, now + policy_.grace);
}

void ElasticJob::Enter(Ending::Phase phase, Time until) {
  if (!ending_.Enter(phase, until)) return;
  for (int i = 0; i < processes_.size(); ++i) {
    Process& p = processes_.At(i);
    const bool unstarted = p.state == Process::kStarting;
    if (unstarted || phase == Ending::Phase::kGivenUp) p.state = Process::kOver;
  }
  if (phase == Ending::Phase::kTerminating) Broadcast({.type = MessageType::kTerminate});
  if (phase == Ending::Phase::kKilling) Broadcast({.type = MessageType::kKill});
}

void ElasticJob::Broadcast(const Message& message) {
  for (const int process :
       processes_.Those([](const Process& p) { return p.state == Process::kRunning; })) {
    send_(process, message);
  }
}

}  // namespace weir::launcher
