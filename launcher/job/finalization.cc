#include "launcher/job/finalization.h"

#include <algorithm>
#include <utility>

namespace weir::launcher {

void Finalization::OnEnded(int rank) {
  const Rank was = std::exchange(At(rank), Rank::kEnded);
  if (was != Rank::kMayAsk && was != Rank::kAsks) return;
  if (!some_never_will_) never_will_ = rank;
  some_never_will_ = true;
}

Finalization::Answer Finalization::TakeAnswer() {
  Answer answer{.ranks = {}, .all_would = !some_never_will_, .never_will = never_will_};
  const bool some_may_ask = std::ranges::find(ranks_, Rank::kMayAsk) != ranks_.end();
  if (!some_never_will_ && some_may_ask) return answer;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    if (ranks_[r] != Rank::kAsks) continue;
    ranks_[r] = Rank::kAnswered;
    answer.ranks.push_back(static_cast<int>(r));
  }
  return answer;
}

}  // namespace weir::launcher
