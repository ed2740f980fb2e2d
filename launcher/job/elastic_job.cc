#include "launcher/job/elastic_job.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "launcher/hosts/hosts.h"
#include "launcher/text/wait_status.h"

namespace weir::launcher {
namespace {

using std::chrono::milliseconds;
using supervision::Message;
using supervision::MessageType;

/// Writes "1 rank is", "2 ranks are".
std::string Ranks(std::size_t count, const char* one, const char* several) {
  return fmt::format("{} {} {}", count, count == 1 ? "rank" : "ranks", count == 1 ? one : several);
}

double InSeconds(milliseconds time) { return static_cast<double>(time.count()) / 1e3; }

}  // namespace

ElasticJob::ElasticJob(std::vector<std::string> hosts, JobPolicy policy, ElasticPolicy elastic,
                       Time now, Send send, std::function<void(const std::string&)> say)
    : policy_(policy),
      elastic_(elastic),
      send_(std::move(send)),
      say_(std::move(say)),
      ending_(policy.kill_after),
      start_due_(now + policy.start_timeout),
      epoch_(send_) {
  for (std::string& host : hosts) processes_.push_back({.host = std::move(host)});
}

template <class Condition>
std::vector<int> ElasticJob::Those(Condition condition) const {
  std::vector<int> those;
  for (int p = 0; p < number_of_processes(); ++p) {
    if (condition(At(p))) those.push_back(p);
  }
  return those;
}

std::vector<int> ElasticJob::Alive() const {
  return Those([](const Process& p) { return p.state != Process::kOver; });
}

std::vector<int> ElasticJob::Awaited() const {
  return Those([this](const Process& p) {
    const bool expected = epoch_.number() == 0 || p.rank >= 0;
    return p.state != Process::kOver && expected && !p.waits;
  });
}

std::string ElasticJob::NameOf(int process) const {
  const Process& p = At(process);
  return fmt::format("rank {} on {}", p.rank >= 0 ? p.rank : process, p.host);
}

std::string ElasticJob::NamesOf(const std::vector<int>& processes) const {
  std::string text;
  for (const int process : processes) text += (text.empty() ? "" : ", ") + NameOf(process);
  return text;
}

void ElasticJob::OnMessage(int process, const Message& message, Time now) {
  Process& sender = At(process);
  switch (message.type) {
    case MessageType::kHello:
      sender.state = ending() ? Process::kOver : Process::kRunning;
      send_(process, {.type = ending() ? MessageType::kFinish : MessageType::kWelcome});
      break;
    case MessageType::kExited:
      OnExited(process, message, now);
      break;
    case MessageType::kStopped:
      if (sender.condemned) {
        Lose(process, "did not come back to go on within the elastic timeout", 1, now);
      }
      epoch_.Remove(process);
      sender.state = Process::kOver;
      send_(process, {.type = MessageType::kFinish});
      break;
    case MessageType::kAttach:
      epoch_.Remove(process);
      sender.waits = true;
      if (!assembling_) assembling_ = now;
      break;
    case MessageType::kAddress:
      if (!ending()) epoch_.Bring(process, message.text);
      break;
    case MessageType::kJoined:
      epoch_.Join(process);
      if (epoch_.whole() && epoch_.Unmet().empty()) assembling_.reset();
      break;
    case MessageType::kLeave:
      OnLeave(process, now);
      break;
    case MessageType::kAbort:
      OnAbort(process, message.text, now);
      break;
    case MessageType::kStatusRequest:
      epoch_.Tell({.type = MessageType::kStatusRequest, .rank = epoch_.RankOf(process)});
      break;
    case MessageType::kStatus:
      if (epoch_.number() == 0) break;
      epoch_.TellRank(
          0, {.type = MessageType::kStatus, .rank = epoch_.RankOf(process), .text = message.text});
      break;
    default:
      break;  // Heartbeats; what concerns MPI alone.
  }
  DealIfComplete(now);
}

void ElasticJob::OnExited(int process, const Message& message, Time now) {
  if (const int code = ShellCode(message.code); code != 0) {
    Lose(process, message.text.empty() ? DescribeStatus(message.code) : message.text, code, now);
  } else {
    At(process).state = Process::kOver;
    At(process).settles = now + policy_.settle;
  }
  send_(process,
        {.type = MessageType::kFinish});  // Clean up at once: the others may go on for days.
}

void ElasticJob::OnLeave(int process, Time now) {
  const int rank = epoch_.RankOf(process);
  const bool amid = epoch_.whole() && rank >= 0 && !epoch_.joined(process);
  epoch_.Remove(process);
  At(process).waits = false;
  if (!amid) return;
  Break(process,
        {.type = MessageType::kPeerLost,
         .rank = rank,
         .host = At(process).host,
         .text = "left before all had joined"},
        now);
}

void ElasticJob::OnAbort(int process, const std::string& reason, Time now) {
  const int rank = epoch_.RankOf(process);
  if (ending() || !epoch_.whole() || rank < 0) return;
  if (!failure_) failure_ = {.text = NameOf(process) + " ended the job: " + reason, .code = 1};
  Break(process, {.type = MessageType::kAbort, .rank = rank, .text = reason}, now);
}

void ElasticJob::Settle(int process, Time now) {
  const bool amid = epoch_.RankOf(process) >= 0 && epoch_.Present().size() > 1;
  if (amid) return Lose(process, "exited without leaving (exit code 0)", 1, now);
  epoch_.Remove(process);
  At(process).waits = false;
  finished_ = true;
}

void ElasticJob::Lose(int process, const std::string& how, int code, Time now) {
  Process& lost = At(process);
  lost.state = Process::kOver;
  lost.waits = false;
  if (ending()) return;
  const Failure failure{.text = NameOf(process) + ": " + how, .code = code};
  if (!failure_) failure_ = failure;
  const int rank = epoch_.RankOf(process);
  epoch_.Remove(process);
  if (rank >= 0 && epoch_.whole()) {
    Break(process, {.type = MessageType::kPeerLost, .rank = rank, .host = lost.host, .text = how},
          now);
  }
  const std::size_t left = Alive().size();
  if (std::cmp_less(left, elastic_.min_ranks) && !finished_) {
    const std::string few = fmt::format("; {} left, and --min-np asks for {}",
                                        Ranks(left, "is", "are"), elastic_.min_ranks);
    Fail({.text = failure_->text + (left == 0 ? "" : few), .code = failure_->code}, now);
  } else {
    say_(fmt::format("{}; {} left", failure.text, Ranks(left, "is", "are")));
  }
}

void ElasticJob::Break(int process, const Message& message, Time now) {
  epoch_.Break(process, message);
  assembling_ = now;
}

void ElasticJob::DealIfComplete(Time now) {
  if (ending() || !Awaited().empty()) return;
  std::vector<int> waiting = Those([](const Process& p) { return p.waits; });
  if (waiting.empty() || std::cmp_less(waiting.size(), elastic_.min_ranks)) return;
  if (elastic_.reset_limit >= 0 && epoch_.number() > elastic_.reset_limit) {
    return Fail(
        {.text = fmt::format(
             "{}the number of resets during the elastic job exceeded the limit: {} (--reset-limit)",
             failure_ ? failure_->text + "; " : "", elastic_.reset_limit),
         .code = failure_ ? failure_->code : 1},
        now);
  }
  // Survivors in their old order, then those that are new: rank 0 has what others need.
  const auto order = [this](int p) { return std::tuple(At(p).rank < 0, At(p).rank, p); };
  std::ranges::sort(waiting, {}, order);
  Deal(waiting, now);
}

void ElasticJob::Deal(const std::vector<int>& processes, Time now) {
  std::vector<Epoch::Seat> seats;
  for (const int process : processes) {
    At(process).rank = static_cast<int>(seats.size());
    At(process).waits = false;
    seats.push_back({.process = process, .host = At(process).host});
  }
  epoch_.Deal(seats);
  if (epoch_.number() > 1) {
    const auto since = std::chrono::duration_cast<milliseconds>(now - assembling_.value_or(now));
    say_(fmt::format("{} on after {:.2f} s (epoch {})", Ranks(processes.size(), "goes", "go"),
                     InSeconds(since), epoch_.number()));
  }
  assembling_ = now;
  failure_.reset();
}

void ElasticJob::OnLate(Time now) {
  const std::vector<int> late = epoch_.whole() ? epoch_.Unmet() : Awaited();
  if (starts()) {
    const bool start = epoch_.number() == 0;
    return Fail(
        {.text = NamesOf(late) +
                 fmt::format(
                     " did not {} within the start timeout of {} s; --start-timeout gives longer",
                     start ? "join the job (init() or Engine::Create)" : "meet",
                     InSeconds(policy_.start_timeout)),
         .code = 1},
        now);
  }
  assembling_ = now;
  for (const int process : late) {
    At(process).condemned = true;
    send_(process, {.type = MessageType::kKill});
  }
}

void ElasticJob::OnSupervisorLost(int process, const std::string& how, Time now) {
  if (At(process).state == Process::kOver) return;
  Lose(process, how, 1, now);
  DealIfComplete(now);
}

void ElasticJob::OnStartTrouble(const StartTrouble& trouble) {
  for (int p = 0; p < number_of_processes(); ++p) {
    const bool meant = trouble.host.empty() ? p == trouble.rank : At(p).host == trouble.host;
    if (meant && At(p).state == Process::kStarting && At(p).trouble.empty())
      At(p).trouble = trouble.why;
  }
}

void ElasticJob::OnStarterEnded(const std::string& name, const std::vector<int>& processes,
                                const std::string& advice, int wait_status, Time now) {
  for (const int process : processes) {
    if (At(process).state != Process::kStarting) continue;
    const std::string how =
        At(process).trouble.empty()
            ? name + " ended with " + DescribeStatus(wait_status) + "; " + advice
            : At(process).trouble;
    Lose(process, "did not start: " + how, 1, now);
  }
  DealIfComplete(now);
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
  return NamesOf(epoch_.Present());
}

void ElasticJob::Tick(Time now) {
  for (int p = 0; p < number_of_processes(); ++p) {
    if (!At(p).settles || now < *At(p).settles) continue;
    At(p).settles.reset();
    Settle(p, now);
  }
  if (const auto due = deadline(); !ending() && due && now >= *due) {
    const std::vector<int> starting =
        Those([](const Process& p) { return p.state == Process::kStarting; });
    if (!starting.empty() && now >= start_due_) {
      for (const int process : starting) {
        Lose(process,
             fmt::format("did not start within the start timeout of {} s{}",
                         InSeconds(policy_.start_timeout),
                         At(process).trouble.empty() ? "" : ": " + At(process).trouble),
             1, now);
      }
    } else if (assembling_ && now >= AssemblyDue()) {
      OnLate(now);
    }
  }
  if (const auto next = ending_.Due(now)) Enter(next->phase, next->until);
  DealIfComplete(now);
}

Time ElasticJob::AssemblyDue() const {
  return *assembling_ + (starts() ? policy_.start_timeout : elastic_.timeout);
}

std::optional<Time> ElasticJob::deadline() const {
  if (over()) return {};
  std::optional<Time> first = ending_.deadline();
  const auto no_later_than = [&first](Time time) { first = std::min(first.value_or(time), time); };
  for (const Process& p : processes_) {
    if (p.settles) no_later_than(*p.settles);
    if (p.state == Process::kStarting && !ending()) no_later_than(start_due_);
  }
  if (assembling_ && !ending()) no_later_than(AssemblyDue());
  return first;
}

bool ElasticJob::over() const { return Alive().empty(); }

int ElasticJob::exit_code() const {
  if (cause_) return cause_->code;
  return !finished_ && failure_ ? failure_->code : 0;
}

std::string ElasticJob::verdict() const {
  if (cause_) return cause_->text;
  return !finished_ && failure_ ? failure_->text : "";
}

void ElasticJob::Fail(const Failure& failure, Time now) {
  if (!cause_) cause_ = failure;
  Enter(Ending::Phase::kGrace, now + policy_.grace);
}

void ElasticJob::Enter(Ending::Phase phase, Time until) {
  if (!ending_.Enter(phase, until)) return;
  for (Process& p : processes_) {
    const bool unstarted = p.state == Process::kStarting;
    if (unstarted || phase == Ending::Phase::kGivenUp) p.state = Process::kOver;
  }
  if (phase == Ending::Phase::kTerminating) Broadcast({.type = MessageType::kTerminate});
  if (phase == Ending::Phase::kKilling) Broadcast({.type = MessageType::kKill});
}

void ElasticJob::Broadcast(const Message& message) {
  for (const int process : Those([](const Process& p) { return p.state == Process::kRunning; })) {
    send_(process, message);
  }
}

}  // namespace weir::launcher
