#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "launcher/job/elastic_job.h"
#include "launcher/job/elastic_text.h"
#include "launcher/text/wait_status.h"

// How processes of an elastic job end, and what that means to the others.

namespace weir::launcher {
namespace {

using supervision::Message;
using supervision::MessageType;

constexpr char kUnjoined[] =
    "exited before it had joined the job with init() or Engine::Create (exit code 0)";

}  // namespace

void ElasticJob::OnStopped(int process, Time now) {
  Lose(process,
       processes_.At(process).condemned.empty() ? "was ended with its supervisor"
                                                : processes_.At(process).condemned,
       1, now);
  send_(process, {.type = MessageType::kFinish});
}

void ElasticJob::OnExited(int process, const Message& message, Time now) {
  Process& exited = processes_.At(process);
  if (const int code = ShellCode(message.code); code != 0) {
    Lose(process, message.text.empty() ? DescribeStatus(message.code) : message.text, code, now);
  } else {
    exited.state = Process::kOver;
    if (!exited.dismissed) OnExitedWell(process, now);
  }
  send_(process,
        {.type = MessageType::kFinish});  // Clean up at once: the others may go on for days.
}

void ElasticJob::OnExitedWell(int process, Time now) {
  Process& exited = processes_.At(process);
  if (epoch_.RankOf(process) >= 0) {
    exited.settles = now + policy_.settle;
  } else if (exited.rank >= 0) {
    Finish(process, now);
  } else if (attached_ && !finished_) {
    Lose(process, kUnjoined, 1, now);
  } else {
    exited.unjoined = !attached_;
  }
}

void ElasticJob::OnLeave(int process, Time now) {
  const int rank = epoch_.RankOf(process);
  const bool amid = epoch_.whole() && rank >= 0 && !epoch_.joined(process);
  epoch_.Remove(process);
  processes_.At(process).waits = false;
  if (!amid) return;
  Break(process,
        {.type = MessageType::kPeerLost,
         .rank = rank,
         .host = processes_.At(process).host,
         .text = "left before all had joined"},
        now);
  EndIfFutile(process, "left before all had joined", now);
}

void ElasticJob::Settle(int process, Time now) {
  const bool amid = epoch_.RankOf(process) >= 0 && epoch_.Present().size() > 1;
  if (amid) return Lose(process, "exited without leaving (exit code 0)", 1, now);
  Finish(process, now);
}

void ElasticJob::MissUnjoined(Time now) {
  for (const int process : processes_.Those(&Process::unjoined)) {
    processes_.At(process).unjoined = false;
    Lose(process, kUnjoined, 1, now);
  }
}

bool ElasticJob::SomeEndedWell() const {
  return !processes_.Those([](const Process& p) { return p.settles || p.unjoined; }).empty();
}

void ElasticJob::Finish(int process, Time now) {
  epoch_.Remove(process);
  processes_.At(process).waits = false;
  finished_ = true;
  has_finished_.push_back(process);
  for (const int p : processes_.Alive()) {
    if (processes_.At(p).rank < 0) Dismiss(p, now);  // It has come too late.
  }
}

void ElasticJob::Lose(int process, const std::string& how, int code, Time now) {
  Process& lost = processes_.At(process);
  lost.state = Process::kOver;
  lost.waits = false;
  if (ending() || lost.dismissed) return epoch_.Remove(process);
  const Failure failure{.text = processes_.NameOf(process) + ": " + how, .code = code};
  if (!failure_) failure_ = failure;
  const int rank = epoch_.RankOf(process);
  epoch_.Remove(process);
  if (rank >= 0 && epoch_.whole()) {
    Break(process, {.type = MessageType::kPeerLost, .rank = rank, .host = lost.host, .text = how},
          now);
  }
  futility_.OnChange();
  const std::string slot = lost.unwanted ? "" : pool_.Lose(lost.host, now);
  const std::size_t left =
      processes_
          .Those([](const Process& p) {
            return (p.state != Process::kOver || p.unjoined) && !p.unwanted && !p.dismissed;
          })
          .size();
  const bool too_few = std::cmp_less(left, elastic_.min_ranks) && !finished_;
  if (too_few && (!can_grow(now) || StateIsLost())) return Fail(TooFew(left), now);
  const bool replaces = elastic_.finds_hosts || elastic_.cooldown;
  say_(fmt::format("{}; {} left{}{}", failure.text, Ranks(left, "is", "are"),
                   too_few ? fmt::format(", waiting for {}", elastic_.min_ranks) : "",
                   replaces && !slot.empty() ? "; " + slot : ""));
  Grow(now);
}

ElasticJob::Failure ElasticJob::TooFew(std::size_t left) const {
  Failure failure = failure_.value_or(Failure{.text = "hosts have gone", .code = 1});
  if (left == 0) return failure;
  return {.text = fmt::format("{}; {} left, and --min-np asks for {}", failure.text,
                              Ranks(left, "is", "are"), elastic_.min_ranks),
          .code = failure.code};
}

void ElasticJob::OnSupervisorLost(int process, const std::string& how, Time now) {
  if (processes_.At(process).state == Process::kOver) return;
  Lose(process, how, 1, now);
  DealIfComplete(now);
}

void ElasticJob::OnStartTrouble(const StartTrouble& trouble) {
  for (int p = 0; p < processes_.size(); ++p) {
    const bool meant =
        trouble.host.empty() ? p == trouble.rank : processes_.At(p).host == trouble.host;
    if (meant && processes_.At(p).state == Process::kStarting && processes_.At(p).trouble.empty())
      processes_.At(p).trouble = trouble.why;
  }
}

void ElasticJob::OnStarterEnded(const std::string& name, const std::vector<int>& processes,
                                const std::string& advice, int wait_status, Time now) {
  for (const int process : processes) {
    if (processes_.At(process).state != Process::kStarting) continue;
    const std::string how =
        processes_.At(process).trouble.empty()
            ? name + " ended with " + DescribeStatus(wait_status) + "; " + advice
            : processes_.At(process).trouble;
    Lose(process, "did not start: " + how, 1, now);
  }
  DealIfComplete(now);
}

}  // namespace weir::launcher
