#pragma once

#include <map>
#include <string>
#include <vector>

#include "coordinator/rank/rank_status.h"
#include "metrics/gauges/stalls.h"

namespace weir {

/// Rank 0's list of stalled tensors, for those who watch the job. It is made of the answers of all
/// ranks. In between, an entry goes when one of the ranks that waited with it no longer does,
/// because all ranks agree on a tensor at once. Network thread only.
class StallList {
 public:
  struct Entry {
    StalledTensor tensor;
    std::map<int, double> waited_seconds;  ///< Wait as told, by rank that has submitted it.
  };

  /// Replaces all entries.
  void Set(std::map<RankStatus::Tensor, Entry> entries) { entries_ = std::move(entries); }
  /// Takes in what a rank says now.
  void OnStatus(int rank, const RankStatus& status);
  Stalls stalls() const;

 private:
  std::map<RankStatus::Tensor, Entry> entries_;
};

}  // namespace weir
