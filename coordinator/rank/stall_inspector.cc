#include "coordinator/rank/stall_inspector.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
#include <set>

#include "common/log.h"

namespace weir {
namespace {

constexpr double kNanoseconds = 1e9;
constexpr std::int64_t kCheckEveryNs = 50'000'000;
// Ranks whose answer takes longer than this after the limit are busy elsewhere: end without them.
constexpr std::int64_t kLateAnswerNs = 2'000'000'000;

}  // namespace

StallInspector::StallInspector(const Settings& settings, int rank, int size, Membership* membership,
                               RanksOf ranks_of)
    : enabled_(settings.stall_check),
      limits_(settings),
      first_limit_ns_(limits_.shutdown_ns > 0 ? std::min(limits_.warning_ns, limits_.shutdown_ns)
                                              : limits_.warning_ns),
      long_wait_ns_(first_limit_ns_ / 2),
      size_(size),
      membership_(membership),
      ranks_of_(std::move(ranks_of)),
      rank_(rank) {}

std::optional<std::string> StallInspector::Check(std::int64_t now_ns,
                                                 const std::vector<Waiting>& waiting) {
  next_check_ns_ = now_ns + kCheckEveryNs;
  NoteLongWaits(now_ns, waiting);
  std::int64_t oldest = now_ns;
  std::string name;
  stalled_ = 0;
  for (const Waiting& entry : waiting) {
    if (IsStalled(entry, now_ns)) ++stalled_;
    if (entry.since_ns < oldest) {
      oldest = entry.since_ns;
      name = entry.name;
    }
  }
  const std::int64_t age = now_ns - oldest;
  const bool over = limits_.shutdown_ns > 0 && age >= limits_.shutdown_ns;
  if (!over) over_since_ns_ = 0;
  if (age < first_limit_ns_) {
    asked_ = false;
    return std::nullopt;
  }
  if (over && over_since_ns_ == 0) {
    over_since_ns_ = now_ns;
    next_request_ns_ = now_ns;  // The last question before the end.
  }
  const auto submitted = [&] {
    return fmt::format("tensor '{}' was submitted by rank {} {:.1f} s ago", name, rank_,
                       static_cast<double>(age) / kNanoseconds);
  };
  // Rank 0 hears the answers, so it can say who is silent, and does so first.
  const std::int64_t patience = rank_ == 0 ? kLateAnswerNs : 2 * kLateAnswerNs;
  if (over && (membership_ == nullptr || now_ns - over_since_ns_ >= patience)) {
    const std::string silent = Silent();
    return submitted() + " and not by every rank; " +
           (silent.empty() ? "not every rank answered who is missing" : silent);
  }
  if (membership_ != nullptr && now_ns >= next_request_ns_) {
    if (const std::string silent = Silent(); !silent.empty()) {
      LogWarning("stalled: {}; {}", submitted(), silent);
    }
    statuses_.clear();
    answered_.clear();
    asked_ = true;
    membership_->RequestStatus();
    next_request_ns_ = now_ns + std::max(over ? kLateAnswerNs : first_limit_ns_, kCheckEveryNs);
  }
  return std::nullopt;
}

void StallInspector::NoteLongWaits(std::int64_t now_ns, const std::vector<Waiting>& waiting) {
  if (!enabled_) return;  // Nothing would look at it again.
  std::set<LongWait> now;
  for (const Waiting& entry : waiting) {
    if (now_ns - entry.since_ns < long_wait_ns_) continue;
    now.insert({{entry.process_set, entry.name}, entry.since_ns});
  }
  if (told_ && !std::ranges::includes(now, long_waits_)) owes_end_ = true;
  if (now.empty()) told_ = false;
  long_waits_ = std::move(now);
}

std::string StallInspector::Silent() const {
  if (rank_ != 0 || !asked_) return "";
  std::vector<int> silent;
  for (int rank = 0; rank < size_; ++rank) {
    if (!answered_.contains(rank)) silent.push_back(rank);
  }
  return fmt::format("ranks [{}] did not answer what they are doing", fmt::join(silent, ", "));
}

void StallInspector::Answer(std::int64_t now_ns, const Doing& doing) {
  // Rank 0 looks at what is told here, not at the last Check.
  NoteLongWaits(now_ns, doing.waiting);
  told_ = !long_waits_.empty();
  membership_->SendStatus(StatusText(now_ns, doing, /*is_answer=*/true));
}

void StallInspector::TellEnd(std::int64_t now_ns, const Doing& doing) {
  owes_end_ = false;
  membership_->SendStatus(StatusText(now_ns, doing, /*is_answer=*/false));
}

std::string StallInspector::StatusText(std::int64_t now_ns, const Doing& doing,
                                       bool is_answer) const {
  RankStatus status{.waiting_seconds = {},
                    .last_finished = doing.last_finished,
                    .joined = {doing.joined.begin(), doing.joined.end()},
                    .is_answer = is_answer};
  for (const Waiting& entry : doing.waiting) {
    status.AddWaiting({entry.process_set, entry.name},
                      static_cast<double>(now_ns - entry.since_ns) / kNanoseconds);
  }
  return TextOf(status);
}

std::optional<std::string> StallInspector::OnStatus(std::int64_t now_ns, int rank,
                                                    const std::string& text) {
  std::string trouble;
  RankStatus status = ParseRankStatus(text, trouble);
  if (!trouble.empty()) LogWarning("rank {} answered what cannot be read: {}", rank, trouble);
  list_.OnStatus(rank, status);
  DropOldAnswers(now_ns);
  if (!status.is_answer) {
    // It may overtake the answers that its own one waits for here.
    if (const auto heard = statuses_.find(rank); heard != statuses_.end()) {
      heard->second.status = std::move(status);
    }
    return std::nullopt;
  }
  answered_.insert(rank);
  statuses_[rank] = {std::move(status), now_ns};
  if (statuses_.size() < static_cast<std::size_t>(size_)) return std::nullopt;
  std::optional<std::string> report = Report(now_ns);
  statuses_.clear();
  answered_.clear();
  asked_ = false;
  return report;
}

/// Several ranks ask, and all answer each of them: when the first ones are put together, some of
/// the others are left over, and say nothing of a later request.
void StallInspector::DropOldAnswers(std::int64_t now_ns) {
  const std::int64_t oldest_ns = now_ns - std::max(kLateAnswerNs, first_limit_ns_ / 2);
  std::erase_if(statuses_, [&](const auto& heard) { return heard.second.time_ns < oldest_ns; });
}

std::optional<std::string> StallInspector::Report(std::int64_t now_ns) {
  std::map<Tensor, StallList::Entry> entries;
  double oldest = 0.0;
  for (const auto& [rank, heard] : statuses_) {
    for (const auto& [tensor, seconds] : heard.status.waiting_seconds) {
      if (EveryRankHas(tensor)) continue;  // Nobody holds it up: a round will find it.
      if (!entries.contains(tensor)) entries.emplace(tensor, EntryOf(tensor, now_ns));
      oldest = std::max(oldest, seconds);
    }
  }
  std::string text;
  for (const auto& [tensor, entry] : entries) text += (text.empty() ? "" : "; ") + Describe(entry);
  std::erase_if(entries, [&](const auto& named) {
    return now_ns - named.second.tensor.since_ns < long_wait_ns_;
  });
  list_.Set(std::move(entries));
  if (text.empty()) return std::nullopt;
  if (limits_.shutdown_ns > 0 && Nanoseconds(oldest) >= limits_.shutdown_ns) return text;
  if (now_ns < next_warning_ns_) return std::nullopt;
  // Half an interval: answers to the next request may be a little faster than these.
  next_warning_ns_ = now_ns + limits_.warning_ns / 2;
  LogWarning("stalled: {}", text);
  return std::nullopt;
}

bool StallInspector::EveryRankHas(const Tensor& tensor) const {
  return std::ranges::all_of(ranks_of_(tensor.first),
                             [&](int rank) { return statuses_.at(rank).status.MayHave(tensor); });
}

StallList::Entry StallInspector::EntryOf(const Tensor& tensor, std::int64_t now_ns) const {
  StallList::Entry entry{
      .tensor = {.name = tensor.second, .process_set = tensor.first, .since_ns = now_ns},
      .waited_seconds = {}};
  for (const int rank : ranks_of_(tensor.first)) {
    const RankStatus& status = statuses_.at(rank).status;
    const auto found = status.waiting_seconds.find(tensor);
    if (found != status.waiting_seconds.end()) {
      entry.waited_seconds[rank] = found->second;
      entry.tensor.since_ns = std::min(entry.tensor.since_ns, now_ns - Nanoseconds(found->second));
    } else if (!status.MayHave(tensor)) {
      entry.tensor.missing.push_back(rank);
    }
  }
  return entry;
}

std::string StallInspector::Describe(const StallList::Entry& entry) const {
  const auto& [name, process_set, since_ns, missing] = entry.tensor;
  std::string doing;
  for (const int rank : missing) {
    const std::string& last = statuses_.at(rank).status.last_finished;
    doing +=
        fmt::format("{}rank {} {}", doing.empty() ? "" : ", ", rank,
                    last.empty() ? "has finished nothing yet" : "last finished '" + last + "'");
  }
  double longest = 0.0;
  for (const auto& [rank, seconds] : entry.waited_seconds) longest = std::max(longest, seconds);
  return fmt::format(
      "tensor '{}'{} was submitted by ranks [{}] {:.1f} s ago but not by ranks [{}] ({})", name,
      process_set == 0 ? "" : fmt::format(" of process set {}", process_set),
      fmt::join(entry.waited_seconds | std::views::keys, ", "), longest, fmt::join(missing, ", "),
      doing);
}

}  // namespace weir
