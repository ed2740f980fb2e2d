#include "monitor_gui/run/run.h"

#include <algorithm>

namespace weir::monitor {

void Run::Add(const Block& block) {
  if (block.rank() < 0) return;
  RankRun& rank = ranks_[block.rank()];
  // A job that began anew at the same address.
  const bool anew = block.kind() == "run" && block.rank() == 0 && !rank.steps().empty();
  if (anew) layers_.Clear();
  if (block.kind() == "run" || block.kind() == "names") layers_.ForgetNames(block.rank());
  rank.Add(block);
  if (block.kind() == "gradients") layers_.Add(rank, block);
}

std::int64_t Run::newest_ns() const {
  std::int64_t newest = 0;
  for (const auto& [rank, known] : ranks_) newest = std::max(newest, known.newest_ns());
  return newest;
}

std::int64_t Run::oldest_ns() const {
  std::int64_t oldest = 0;
  for (const auto& [rank, known] : ranks_) {
    if (known.steps().empty()) continue;
    const std::int64_t start = known.steps().front().start_ns;
    oldest = oldest == 0 ? start : std::min(oldest, start);
  }
  return oldest;
}

}  // namespace weir::monitor
