#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/supervision/rank_totals.h"

namespace weir::launcher {

/// Reports of a job's ranks about their steps. A rank may make one engine after another; their
/// steps are added up. Not thread-safe.
class JobTotals {
 public:
  explicit JobTotals(std::size_t ranks) : ranks_(ranks) {}

  /// Ranks have come that were not there at the start.
  void Grow(std::size_t ranks) { ranks_.resize(ranks); }

  /// Called when `rank` makes an engine, which counts from 0.
  void OnAttach(int rank);
  /// Takes a report of its engine; the last one counts.
  void OnTotals(int rank, std::string text);
  /// Returns the totals by rank. Unreadable reports count for nothing.
  std::vector<RankTotals> All() const;

 private:
  struct Rank {
    RankTotals before;  ///< Totals of earlier engines.
    std::string now;    ///< Empty: no report yet.
  };
  static RankTotals Sum(const Rank& rank);

  std::vector<Rank> ranks_;
};

}  // namespace weir::launcher
