#include "launcher/job.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "launcher/wait_status.h"

namespace weir::launcher {

using supervision::Message;
using supervision::MessageType;

namespace {

std::string Seconds(std::chrono::milliseconds time) {
  std::ostringstream text;
  text << static_cast<double>(time.count()) / 1e3;
  return text.str();
}

}  // namespace

Job::Job(std::vector<std::string> hosts, JobPolicy policy, Time now, Send send)
    : policy_(policy), send_(std::move(send)), phase_ends_(now + policy.start_timeout) {
  for (std::string& host : hosts) ranks_.push_back({.host = std::move(host)});
  SetDeadline();
}

bool Job::over() const {
  return std::ranges::all_of(ranks_, [](const Rank& r) { return r.state == Rank::kOver; });
}

void Job::OnMessage(int rank, const Message& message, Time now) {
  Rank& sender = ranks_[static_cast<std::size_t>(rank)];
  switch (message.type) {
    case MessageType::kHello:
      // A rank that comes when the job is already ending is never started.
      sender.state = ending() ? Rank::kOver : Rank::kRunning;
      send_(rank, {.type = ending() ? MessageType::kFinish : MessageType::kWelcome});
      break;
    case MessageType::kExited:
      OnExited(rank, message, now);
      break;
    case MessageType::kStopped:
      sender.state = Rank::kOver;
      break;
    case MessageType::kAttach:
      sender.attached = true;
      break;
    case MessageType::kLeave:
      sender.attached = false;
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
    default:
      break;  // Heartbeats; a supervisor has no business with the others.
  }
  SetDeadline();
}

void Job::OnExited(int rank, const Message& message, Time now) {
  Rank& gone = ranks_[static_cast<std::size_t>(rank)];
  gone.state = Rank::kOver;
  if (const int code = ShellCode(message.code); code != 0) {
    if (cause_ && !cause_->code_is_final && cause_->code_of.value_or(rank) == rank) {
      cause_->code = code;
      cause_->code_is_final = true;
    }
    FailRank(rank, message.text.empty() ? DescribeStatus(message.code) : message.text, code, now);
  } else if (gone.attached) {
    gone.settles = now + policy_.settle;
  }
}

void Job::OnAbort(int rank, const std::string& reason, Time now) {
  if (cause_) return;
  cause_ = {.text = Place(rank) + " ended the job: " + reason,
            .code = 1,
            .code_is_final = false,
            .code_of = rank};
  Broadcast({.type = MessageType::kAbort, .rank = rank, .text = reason}, rank);
  Enter(Phase::kGrace, now + policy_.grace);
}

void Job::OnSupervisorLost(int rank, const std::string& how, Time now) {
  Rank& lost = ranks_[static_cast<std::size_t>(rank)];
  if (lost.state == Rank::kOver) return;
  lost.state = Rank::kOver;
  FailRank(rank, how, 1, now);
}

void Job::OnStartTrouble(const StartTrouble& trouble) {
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    Rank& rank = ranks_[r];
    const bool meant =
        trouble.host.empty() ? static_cast<int>(r) == trouble.rank : rank.host == trouble.host;
    if (meant && rank.state == Rank::kStarting && rank.trouble.empty()) rank.trouble = trouble.why;
  }
}

void Job::OnMpiexecEnded(int wait_status, Time now) {
  const int code = ShellCode(wait_status);
  const std::string how = "mpiexec ended with " + DescribeStatus(wait_status);
  if (!StartingRanks().empty()) {
    if (!cause_ && !KnownTroubles().empty()) cause_ = {.text = KnownTroubles(), .code = 1};
    if (!cause_)
      cause_ = {.text = how + " before it had started " + StartingRanks() +
                        "; are the hosts right (-H, --hostfile), and what goes to mpiexec "
                        "(--mpi-args, --binding-args; --verbose shows it)?",
                .code = 1};
    GiveUpOnStarting();
  }
  if (over()) return;
  // MPI_Abort, or somebody ended mpiexec. The supervisors see it too and end their programs at
  // once; the rank that called MPI_Abort may still report the exit code that it chose.
  if (!cause_) {
    cause_ = {.text = how + ": a rank called MPI_Abort, or mpiexec was ended from outside",
              .code = code ? code : 1,
              .text_is_final = false,
              .code_is_final = false};
  }
  Enter(Phase::kTerminating, now + policy_.grace);
}

void Job::OnLauncherFailed(const std::string& how, Time now) {
  if (!cause_) cause_ = {.text = how, .code = 1};
  GiveUpOnStarting();
  Enter(Phase::kTerminating, now + policy_.grace);
}

void Job::OnInterrupt(int signal, Time now) {
  if (!cause_) {
    cause_ = {.text = "received " + DescribeStatus(signal), .code = 128 + signal};
  }
  GiveUpOnStarting();
  const bool again = phase_ >= Phase::kTerminating;
  Enter(again ? Phase::kKilling : Phase::kTerminating,
        now + (again ? policy_.kill_after : policy_.grace));
}

void Job::Tick(Time now) {
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    if (!ranks_[r].settles || now < *ranks_[r].settles) continue;
    ranks_[r].settles.reset();
    const bool others_go_on = std::ranges::any_of(
        ranks_, [](const Rank& other) { return other.attached && other.state == Rank::kRunning; });
    if (others_go_on) FailRank(static_cast<int>(r), "exited without leaving (exit code 0)", 1, now);
  }
  if (now >= phase_ends_) {
    switch (phase_) {
      case Phase::kRunning:
        if (const std::string missing = StartingRanks(); !missing.empty()) {
          const std::string known = KnownTroubles();
          cause_ = {.text = missing + " did not start within the start timeout of " +
                            Seconds(policy_.start_timeout) + " s; " +
                            (known.empty() ? "is the host reachable by ssh, and weirrun installed "
                                             "there at the same path?"
                                           : known),
                    .code = 1};
          GiveUpOnStarting();
          Enter(Phase::kTerminating, now + policy_.grace);
        }
        break;
      case Phase::kGrace:
        Enter(Phase::kTerminating, now + policy_.kill_after);
        break;
      case Phase::kTerminating:
        Enter(Phase::kKilling, now + policy_.kill_after);
        break;
      case Phase::kKilling:
        for (Rank& rank : ranks_) rank.state = Rank::kOver;  // Beyond our reach.
        break;
    }
  }
  SetDeadline();
}

std::string Job::Place(int rank) const {
  return "rank " + std::to_string(rank) + " on " + ranks_[static_cast<std::size_t>(rank)].host;
}

void Job::FailRank(int rank, const std::string& how, int code, Time now) {
  if (cause_ && !cause_->text_is_final) *cause_ = {.text = Place(rank) + ": " + how, .code = code};
  if (cause_) return;
  cause_ = {.text = Place(rank) + ": " + how, .code = code};
  Broadcast({.type = MessageType::kPeerLost,
             .rank = rank,
             .host = ranks_[static_cast<std::size_t>(rank)].host,
             .text = how},
            rank);
  GiveUpOnStarting();
  Enter(Phase::kGrace, now + policy_.grace);
}

void Job::Enter(Phase phase, Time until) {
  if (phase <= phase_) return;  // A job that is being killed is not asked politely again.
  phase_ = phase;
  phase_ends_ = until;
  if (phase == Phase::kTerminating) Broadcast({.type = MessageType::kTerminate});
  if (phase == Phase::kKilling) Broadcast({.type = MessageType::kKill});
  SetDeadline();
}

void Job::Broadcast(const Message& message, int except) {
  for (int r = 0; r < static_cast<int>(ranks_.size()); ++r) {
    const bool running = ranks_[static_cast<std::size_t>(r)].state == Rank::kRunning;
    if (running && r != except) send_(r, message);
  }
}

void Job::SetDeadline() {
  deadline_.reset();
  if (over()) return;
  if (ending() || !StartingRanks().empty()) deadline_ = phase_ends_;
  for (const Rank& rank : ranks_) {
    if (rank.settles) deadline_ = std::min(deadline_.value_or(*rank.settles), *rank.settles);
  }
}

void Job::GiveUpOnStarting() {
  for (Rank& rank : ranks_) {
    if (rank.state == Rank::kStarting) rank.state = Rank::kOver;
  }
}

std::string Job::StartingRanks() const {
  std::vector<int> starting;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    if (ranks_[r].state == Rank::kStarting) starting.push_back(static_cast<int>(r));
  }
  return Places(starting);
}

std::string Job::KnownTroubles() const {
  std::map<std::string, std::vector<int>> by_reason;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const Rank& rank = ranks_[r];
    if (rank.state != Rank::kStarting || rank.trouble.empty()) continue;
    by_reason[rank.trouble].push_back(static_cast<int>(r));
  }
  std::string text;
  for (const auto& [why, ranks] : by_reason) {
    text += (text.empty() ? "" : "; ") + Places(ranks) + " did not start: " + why;
  }
  return text;
}

std::string Job::Places(const std::vector<int>& ranks) const {
  std::string text;
  for (std::size_t i = 0, end = 0; i < ranks.size(); i = end) {
    const std::string& host = ranks_[static_cast<std::size_t>(ranks[i])].host;
    end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1 &&
           ranks_[static_cast<std::size_t>(ranks[end])].host == host) {
      ++end;
    }
    const bool one = end == i + 1;
    text += (text.empty() ? "" : ", ") + std::string(one ? "rank " : "ranks ") +
            std::to_string(ranks[i]) + (one ? "" : "-" + std::to_string(ranks[end - 1])) + " on " +
            host;
  }
  return text;
}

}  // namespace weir::launcher
