#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/rank_totals.h"

namespace weir::launcher {

/// What the ranks of a job have said of their steps. A rank may make one engine after another:
/// their steps are added up. Not thread-safe.
class JobTotals {
 public:
  explicit JobTotals(std::size_t ranks) : ranks_(ranks) {}

  /// `rank` makes an engine, which counts from 0.
  void OnAttach(int rank);
  /// What its engine has said; the last word counts.
  void OnTotals(int rank, std::string text);
  /// By rank. What cannot be read counts for nothing.
  std::vector<RankTotals> All() const;

 private:
  struct Rank {
    RankTotals before;  ///< Of engines that are no more.
    std::string now;    ///< Empty: nothing was said.
  };
  static RankTotals Sum(const Rank& rank);

  std::vector<Rank> ranks_;
};

}  // namespace weir::launcher
