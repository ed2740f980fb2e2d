#include "launcher/job/assembly.h"

#include <algorithm>
#include <span>

namespace weir::launcher {

void Assembly::Attach(int rank, Time now) {
  Set(rank, Engine::kWaiting);
  if (!waits_since_ && first_waiting()) waits_since_ = now;
}

std::optional<int> Assembly::first_waiting() const {
  const auto ranks = std::span(engines_).first(ranks_);
  const auto first = std::ranges::find(ranks, Engine::kWaiting);
  if (first == ranks.end()) return {};
  return static_cast<int>(first - ranks.begin());
}

std::vector<int> Assembly::absent() const {
  std::vector<int> ranks;
  if (!first_waiting()) return ranks;
  for (std::size_t r = 0; r < engines_.size(); ++r) {
    if (engines_[r] == Engine::kNone) ranks.push_back(static_cast<int>(r));
  }
  return ranks;
}

std::optional<Assembly::Time> Assembly::deadline() const {
  if (!begun_ || !waits_since_) return {};
  return std::max(*begun_, *waits_since_) + timeout_;
}

void Assembly::Set(int rank, Engine state) {
  engines_[static_cast<std::size_t>(rank)] = state;
  if (!first_waiting()) waits_since_.reset();
}

}  // namespace weir::launcher
