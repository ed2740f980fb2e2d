#include "coordinator/rank/stall_list.h"

#include <algorithm>

namespace weir {

void StallList::OnStatus(int rank, const RankStatus& status) {
  std::erase_if(entries_, [&](const auto& named) {
    const auto& [tensor, entry] = named;
    const auto before = entry.waited_seconds.find(rank);
    if (before == entry.waited_seconds.end()) return false;
    const auto now = status.waiting_seconds.find(tensor);
    if (now == status.waiting_seconds.end()) return !status.MayHave(tensor);
    return now->second < before->second;  // It was submitted anew since.
  });
}

Stalls StallList::stalls() const {
  Stalls stalls;
  for (const auto& [tensor, entry] : entries_) stalls.tensors.push_back(entry.tensor);
  std::ranges::stable_sort(stalls.tensors, {}, &StalledTensor::since_ns);
  if (stalls.tensors.size() > Stalls::kMost) {
    stalls.left_out = stalls.tensors.size() - Stalls::kMost;
    stalls.tensors.resize(Stalls::kMost);
  }
  return stalls;
}

}  // namespace weir
