#include "coordinator/stall_inspector.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "common/log.h"

namespace weir {
namespace {

constexpr double kNanoseconds = 1e9;
constexpr std::int64_t kCheckEveryNs = 50'000'000;
// Ranks whose answer takes longer than this after the limit are busy elsewhere: end without them.
constexpr std::int64_t kLateAnswerNs = 2'000'000'000;
constexpr std::size_t kMostTensors = 100;

std::int64_t Nanoseconds(double seconds) {
  return static_cast<std::int64_t>(seconds * kNanoseconds);
}

}  // namespace

StallInspector::StallInspector(const Settings& settings, int rank, int size, Membership* membership,
                               RanksOf ranks_of)
    : enabled_(settings.stall_check),
      // Before a deadline ends the job somebody has to be told who keeps it waiting.
      warning_ns_(
          Nanoseconds(std::min(settings.stall_warning_seconds, settings.timeout_seconds / 2))),
      shutdown_ns_(Nanoseconds(settings.stall_shutdown_seconds)),
      first_limit_ns_(shutdown_ns_ > 0 ? std::min(warning_ns_, shutdown_ns_) : warning_ns_),
      size_(size),
      membership_(membership),
      ranks_of_(std::move(ranks_of)),
      rank_(rank) {}

std::optional<std::string> StallInspector::Check(std::int64_t now_ns,
                                                 const std::vector<Waiting>& waiting) {
  next_check_ns_ = now_ns + kCheckEveryNs;
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
  const bool over = shutdown_ns_ > 0 && age >= shutdown_ns_;
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
    asked_ = true;
    membership_->RequestStatus();
    next_request_ns_ = now_ns + std::max(over ? kLateAnswerNs : first_limit_ns_, kCheckEveryNs);
  }
  return std::nullopt;
}

std::string StallInspector::Silent() const {
  if (rank_ != 0 || !asked_) return "";
  std::vector<int> silent;
  for (int rank = 0; rank < size_; ++rank) {
    if (!statuses_.contains(rank)) silent.push_back(rank);
  }
  return fmt::format("ranks [{}] did not answer what they are doing", fmt::join(silent, ", "));
}

void StallInspector::Answer(std::int64_t now_ns, const Doing& doing) {
  std::map<Tensor, double> tensors;
  for (const Waiting& entry : doing.waiting) {
    tensors[{entry.process_set, entry.name}] =
        static_cast<double>(now_ns - entry.since_ns) / kNanoseconds;
    // The first ones by name, so that the reader knows what there was no room for.
    if (tensors.size() > kMostTensors) tensors.erase(std::prev(tensors.end()));
  }
  auto list = nlohmann::json::array();
  for (const auto& [tensor, seconds] : tensors) {
    list.push_back({tensor.first, tensor.second, seconds});
  }
  membership_->SendStatus(
      // A name need not be UTF-8; what is not is shown replaced.
      nlohmann::json{
          {"waiting", list}, {"last_finished", doing.last_finished}, {"joined", doing.joined}}
          .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::optional<std::string> StallInspector::OnStatus(std::int64_t now_ns, int rank,
                                                    const std::string& text) {
  Status status;
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    for (const auto& [set, name, seconds] :
         json.at("waiting").get<std::vector<std::tuple<int, std::string, double>>>()) {
      status.waiting_seconds[{set, name}] = seconds;
    }
    status.last_finished = json.value("last_finished", "");
    status.joined = json.value("joined", std::set<int>());
  } catch (const nlohmann::json::exception& error) {
    LogWarning("rank {} answered what cannot be read: {}", rank, error.what());
  }
  statuses_[rank] = std::move(status);
  if (statuses_.size() < static_cast<std::size_t>(size_)) return std::nullopt;
  std::optional<std::string> report = Report(now_ns);
  statuses_.clear();
  asked_ = false;
  return report;
}

std::optional<std::string> StallInspector::Report(std::int64_t now_ns) {
  std::set<Tensor> tensors;
  double oldest = 0.0;
  for (const auto& [rank, status] : statuses_) {
    for (const auto& [tensor, seconds] : status.waiting_seconds) {
      if (EveryRankHas(tensor)) continue;  // Nobody holds it up: a round will find it.
      tensors.insert(tensor);
      oldest = std::max(oldest, seconds);
    }
  }
  std::string text;
  for (const Tensor& tensor : tensors) text += (text.empty() ? "" : "; ") + Describe(tensor);
  if (text.empty()) return std::nullopt;
  if (shutdown_ns_ > 0 && Nanoseconds(oldest) >= shutdown_ns_) return text;
  if (now_ns < next_warning_ns_) return std::nullopt;
  // Half an interval: answers to the next request may be a little faster than these.
  next_warning_ns_ = now_ns + warning_ns_ / 2;
  LogWarning("stalled: {}", text);
  return std::nullopt;
}

bool StallInspector::EveryRankHas(const Tensor& tensor) const {
  return std::ranges::all_of(ranks_of_(tensor.first),
                             [&](int rank) { return statuses_.at(rank).MayHave(tensor); });
}

bool StallInspector::Status::MayHave(const Tensor& tensor) const {
  return waiting_seconds.contains(tensor) || joined.contains(tensor.first) ||
         (waiting_seconds.size() >= kMostTensors && tensor > waiting_seconds.rbegin()->first);
}

std::string StallInspector::Describe(const Tensor& tensor) const {
  std::vector<int> present;
  std::vector<int> missing;
  double seconds = 0.0;
  std::string doing;
  for (const int rank : ranks_of_(tensor.first)) {
    const Status& status = statuses_.at(rank);
    const auto found = status.waiting_seconds.find(tensor);
    if (found != status.waiting_seconds.end()) {
      present.push_back(rank);
      seconds = std::max(seconds, found->second);
      continue;
    }
    if (status.MayHave(tensor)) continue;
    missing.push_back(rank);
    doing +=
        fmt::format("{}rank {} {}", doing.empty() ? "" : ", ", rank,
                    status.last_finished.empty() ? "has finished nothing yet"
                                                 : "last finished '" + status.last_finished + "'");
  }
  return fmt::format(
      "tensor '{}'{} was submitted by ranks [{}] {:.1f} s ago but not by ranks [{}] ({})",
      tensor.second, tensor.first == 0 ? "" : fmt::format(" of process set {}", tensor.first),
      fmt::join(present, ", "), seconds, fmt::join(missing, ", "), doing);
}

}  // namespace weir
