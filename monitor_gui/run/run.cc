#include "monitor_gui/run/run.h"

#include <algorithm>

#include "monitor_gui/log/job_id.h"

namespace weir::monitor {
namespace {

/// Returns 0 when there is nothing.
std::int64_t OldestOf(const RankRun& rank) {
  if (!rank.steps().empty()) return rank.steps().front().start_ns;
  // A flight recording has no steps.
  return rank.stages().empty() ? 0 : rank.stages().front().start_ns;
}

}  // namespace

void Run::Add(const Block& block) {
  if (block.rank() < 0) return;
  if (block.kind() == "run") Begin(block);
  // A rank without a "run" block may belong to an earlier job.
  if (!job_.isEmpty() && block.kind() != "run" && !ranks_.contains(block.rank())) return;
  RankRun& rank = ranks_[block.rank()];
  if (block.kind() == "run" || block.kind() == "names") layers_.ForgetNames(block.rank());
  rank.Add(block);
  if (block.kind() == "gradients") layers_.Add(rank, block);
}

void Run::Begin(const Block& block) {
  const QString job = block.job();
  const bool is_another = AreOfDifferentJobs(job, job_);
  if (!job.isEmpty()) job_ = job;
  if (is_another) {
    ranks_.clear();
    layers_.Clear();
    return;
  }
  // A rank without a job id has begun anew at the same address.
  const auto known = ranks_.find(block.rank());
  const bool anew = block.rank() == 0 && known != ranks_.end() && !known->second.steps().empty();
  if (anew) layers_.Clear();
}

void Run::KeepLinks(const std::set<int>& ranks) {
  std::erase_if(links_, [&](const auto& link) { return !ranks.contains(link.first); });
}

bool Run::HasEnded(int rank) const {
  const auto known = ranks_.find(rank);
  return known != ranks_.end() && known->second.end().has_value();
}

bool Run::HasEnded() const {
  return !ranks_.empty() && std::ranges::all_of(ranks_, [](const auto& rank) {
    return rank.second.end().has_value();
  });
}

bool Run::AllAre(RankLink::State state) const {
  return !links_.empty() &&
         std::ranges::all_of(links_, [&](const auto& link) { return link.second.state == state; });
}

std::int64_t Run::newest_ns() const {
  std::int64_t newest = 0;
  for (const auto& [rank, known] : ranks_) newest = std::max(newest, known.newest_ns());
  return newest;
}

std::int64_t Run::oldest_ns() const {
  std::int64_t oldest = 0;
  for (const auto& [rank, known] : ranks_) {
    const std::int64_t start = OldestOf(known);
    if (start != 0) oldest = oldest == 0 ? start : std::min(oldest, start);
  }
  return oldest;
}

}  // namespace weir::monitor
