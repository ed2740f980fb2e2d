#pragma once

#include <map>
#include <string>
#include <vector>

#include "coordinator/rank/rank_status.h"
#include "metrics/gauges/stalls.h"

namespace weir {

/// Rank 0's list of what is stalled, for those who watch the job. Made of the answers of all ranks;
/// in between, an entry goes when one of the ranks that had waited with it does not any more, for a
/// tensor is agreed on by all ranks at once. Network thread only.
class StallList {
 public:
  struct Entry {
    StalledTensor tensor;
    std::map<int, double> waited_seconds;  ///< By rank that has submitted it, when that was said.
  };

  /// Replaces all entries.
  void Set(std::map<RankStatus::Tensor, Entry> entries) { entries_ = std::move(entries); }
  /// What a rank says now.
  void OnStatus(int rank, const RankStatus& status);
  Stalls stalls() const;

 private:
  std::map<RankStatus::Tensor, Entry> entries_;
};

}  // namespace weir
