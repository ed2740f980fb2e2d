#include "launcher/finalization.h"

#include <algorithm>

namespace weir::launcher {

void Finalization::End(int rank) {
  const Rank was = At(rank);
  Set(rank, Rank::kNone);
  if (was == Rank::kInitialized || was == Rank::kAsking) one_never_comes_ = true;
}

Finalization::Answer Finalization::TakeAnswer() {
  Answer answer{.ranks = {}, .all_have_come = !one_never_comes_};
  const bool some_may_come = std::ranges::find(ranks_, Rank::kInitialized) != ranks_.end();
  if (!one_never_comes_ && some_may_come) return answer;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    if (ranks_[r] != Rank::kAsking) continue;
    ranks_[r] = Rank::kAnswered;
    answer.ranks.push_back(static_cast<int>(r));
  }
  return answer;
}

}  // namespace weir::launcher
