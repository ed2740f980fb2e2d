#include "monitor_gui/run/run.h"

#include <algorithm>

namespace weir::monitor {

void Run::Add(const Block& block) {
  if (block.rank() < 0) return;
  if (block.kind() == "run") Begin(block);
  // Who has not said so yet may be of a job that ran here before.
  if (!job_.isEmpty() && block.kind() != "run" && !ranks_.contains(block.rank())) return;
  RankRun& rank = ranks_[block.rank()];
  if (block.kind() == "run" || block.kind() == "names") layers_.ForgetNames(block.rank());
  rank.Add(block);
  if (block.kind() == "gradients") layers_.Add(rank, block);
}

void Run::Begin(const Block& block) {
  const QString job = block.job();
  const bool is_another = !job.isEmpty() && !job_.isEmpty() && job != job_;
  if (!job.isEmpty()) job_ = job;
  if (is_another) {
    ranks_.clear();
    layers_.Clear();
    return;
  }
  // One that does not say which it is has begun anew at the same address.
  const auto known = ranks_.find(block.rank());
  const bool anew = block.rank() == 0 && known != ranks_.end() && !known->second.steps().empty();
  if (anew) layers_.Clear();
}

void Run::KeepLinks(const std::set<int>& ranks) {
  std::erase_if(links_, [&](const auto& link) { return !ranks.contains(link.first); });
}

std::int64_t Run::newest_ns() const {
  std::int64_t newest = 0;
  for (const auto& [rank, known] : ranks_) newest = std::max(newest, known.newest_ns());
  return newest;
}

std::int64_t Run::oldest_ns() const {
  std::int64_t oldest = 0;
  for (const auto& [rank, known] : ranks_) {
    std::int64_t start = 0;
    if (!known.steps().empty()) start = known.steps().front().start_ns;
    // As in a flight recording, which has no steps.
    else if (!known.stages().empty())
      start = known.stages().front().start_ns;
    if (start != 0) oldest = oldest == 0 ? start : std::min(oldest, start);
  }
  return oldest;
}

}  // namespace weir::monitor
