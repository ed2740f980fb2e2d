#include "launcher/summary/job_totals.h"

#include <utility>

#include "weir/error.h"

namespace weir::launcher {

void JobTotals::OnAttach(int rank) {
  Rank& one = ranks_[static_cast<std::size_t>(rank)];
  one.before = Sum(one);
  one.now.clear();
}

void JobTotals::OnTotals(int rank, std::string text) {
  ranks_[static_cast<std::size_t>(rank)].now = std::move(text);
}

RankTotals JobTotals::Sum(const Rank& rank) {
  RankTotals sum = rank.before;
  if (rank.now.empty()) return sum;
  try {
    sum.Merge(ParseRankTotals(rank.now));
  } catch (const Corrupt&) {
    return sum;
  }
  return sum;
}

std::vector<RankTotals> JobTotals::All() const {
  std::vector<RankTotals> all;
  all.reserve(ranks_.size());
  for (const Rank& rank : ranks_) all.push_back(Sum(rank));
  return all;
}

}  // namespace weir::launcher
