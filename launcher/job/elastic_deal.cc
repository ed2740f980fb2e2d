#include <algorithm>
#include <tuple>
#include <utility>

#include "launcher/job/elastic_job.h"
#include "launcher/job/elastic_text.h"
#include "launcher/text/seconds.h"

// When an elastic job deals its ranks anew, to whom, and who is too late for it.

namespace weir::launcher {

using std::chrono::milliseconds;
using supervision::MessageType;

std::vector<int> ElasticJob::Awaited() const {
  return processes_.Those([this](const Process& p) {
    const bool expected = epoch_.number() == 0 || p.rank >= 0;
    return p.state != Process::kOver && expected && !p.HasCome() && !p.dismissed;
  });
}

Time ElasticJob::AssemblyDue() const {
  return *assembling_ + (!met_ || Meets() ? policy_.start_timeout : elastic_.timeout);
}

bool ElasticJob::StateIsLost() const {
  return epoch_.number() > 0 &&
         processes_
             .Those([](const Process& p) { return p.state != Process::kOver && p.holds_state; })
             .empty();
}

void ElasticJob::DealIfComplete(Time now) {
  std::vector<int> waiting = processes_.Those(&Process::HasCome);
  if (ending() || waiting.empty() || !Awaited().empty() || now < futility_.rests_until()) return;
  const auto is_unwanted = [this](int p) { return processes_.At(p).unwanted; };
  const auto holds = [this](int p) { return epoch_.number() == 0 || processes_.At(p).holds_state; };
  const auto stays = [&](int p) { return holds(p) && !is_unwanted(p); };
  if (StateIsLost()) {
    const Failure last = failure_.value_or(Failure{.text = "all ranks have left", .code = 1});
    return Fail({.text = last.text + "; no rank is left that has what the others would need",
                 .code = last.code},
                now);
  }
  if (std::ranges::none_of(waiting, holds)) return;  // Those that hold it are still at work.
  if (std::ranges::any_of(waiting, stays)) {
    for (const int p : waiting) {
      if (is_unwanted(p)) Dismiss(p, now);
    }
    std::erase_if(waiting, is_unwanted);
  } else if (std::ranges::all_of(waiting, is_unwanted)) {
    return TellOfWait(0);  // They give what they have to those that come.
  }
  if (std::cmp_less(waiting.size(), elastic_.min_ranks) && !finished_) {
    return TellOfWait(waiting.size());
  }
  if (elastic_.reset_limit >= 0 && epoch_.number() > elastic_.reset_limit) {
    return Fail(
        {.text = fmt::format(
             "{}the number of resets during the elastic job exceeded the limit: {} (--reset-limit)",
             failure_ ? failure_->text + "; " : "", elastic_.reset_limit),
         .code = failure_ ? failure_->code : 1},
        now);
  }
  // Those that have what others need, in their old order, then the others: rank 0 gives it.
  const auto order = [this](int p) {
    const Process& one = processes_.At(p);
    return std::tuple(!one.holds_state, one.rank < 0, one.rank, p);
  };
  std::ranges::sort(waiting, {}, order);
  Deal(waiting, now);
}

void ElasticJob::Deal(const std::vector<int>& processes, Time now) {
  std::vector<Epoch::Seat> seats;
  std::vector<int> newcomers;
  for (const int process : processes) {
    if (processes_.At(process).rank < 0) newcomers.push_back(process);
    processes_.At(process).rank = static_cast<int>(seats.size());
    processes_.At(process).waits = false;
    if (epoch_.number() == 0) processes_.At(process).holds_state = true;  // All begin alike.
    seats.push_back({.process = process, .host = processes_.At(process).host});
  }
  epoch_.Deal(seats);
  if (!newcomers.empty()) futility_.OnChange();
  futility_.OnDeal();
  if (epoch_.number() > 1) TellOfDeal(processes, newcomers, now);
  assembling_ = now;
  failure_.reset();
  has_finished_.clear();
  told_of_wait_ = false;
}

void ElasticJob::TellOfDeal(const std::vector<int>& processes, const std::vector<int>& newcomers,
                            Time now) {
  if (!has_finished_.empty()) {
    say_(fmt::format("{} {} finished (exit code 0)", processes_.NamesOf(has_finished_),
                     has_finished_.size() == 1 ? "has" : "have"));
  }
  if (!newcomers.empty()) {
    say_(fmt::format("{} {} come", processes_.NamesOf(newcomers),
                     newcomers.size() == 1 ? "has" : "have"));
  }
  const auto since = std::chrono::duration_cast<milliseconds>(now - assembling_.value_or(now));
  say_(fmt::format("{} on after {:.2f} s (epoch {})", Ranks(processes.size(), "goes", "go"),
                   InSeconds(since), epoch_.number()));
}

void ElasticJob::TellOfWait(std::size_t ranks) {
  const bool starts = epoch_.number() == 0;
  if (std::exchange(told_of_wait_, true)) return;
  say_(fmt::format("{} of {} ranks: waiting up to {} s ({}) for hosts", ranks, elastic_.min_ranks,
                   InSeconds(starts ? policy_.start_timeout : elastic_.timeout),
                   starts ? "--start-timeout" : "--elastic-timeout"));
}

void ElasticJob::OnLate(Time now) {
  const std::vector<int> late = Meets() ? epoch_.Unmet() : Awaited();
  if (!met_ && !late.empty()) {
    const bool start = epoch_.number() == 0;
    return Fail(
        {.text = processes_.NamesOf(late) +
                 fmt::format(
                     " did not {} within the start timeout of {} s; --start-timeout gives longer",
                     start ? "join the job (init() or Engine::Create)" : "meet",
                     InSeconds(policy_.start_timeout)),
         .code = 1},
        now);
  }
  if (late.empty()) {
    const auto waiting = processes_.Those([](const Process& p) { return p.waits && !p.unwanted; });
    return Fail(TooFew(waiting.size()), now);
  }
  assembling_ = now;
  const char* const why = Meets() ? "did not meet the others within the start timeout"
                                  : "did not come back to go on within the elastic timeout";
  for (const int process : late) Condemn(process, why);
}

void ElasticJob::PartHosts() {
  const auto host_of = [this](int process) { return processes_.At(process).host; };
  for (const auto& [host, unreached] : parting_.Leavers(epoch_.Present(), host_of)) {
    for (const int process : processes_.Alive()) {
      if (host_of(process) != host) continue;
      Condemn(process, "its host does not reach " + processes_.NameOf(unreached) + " any more");
    }
  }
}

bool ElasticJob::CondemnNewcomers(const std::string& reason) {
  const auto newcomers = processes_.Those([](const Process& p) {
    return p.state == Process::kRunning && p.rank >= 0 && !p.holds_state;
  });
  for (const int process : newcomers) {
    Condemn(process, "has not come to work with the others: " + reason);
  }
  return !newcomers.empty();
}

void ElasticJob::Condemn(int process, const std::string& why) {
  if (!processes_.At(process).condemned.empty()) return;
  processes_.At(process).condemned = why;
  send_(process, {.type = MessageType::kKill});
}

}  // namespace weir::launcher
