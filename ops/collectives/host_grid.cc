#include "ops/collectives/host_grid.h"

#include <algorithm>

namespace weir {

std::optional<HostGrid> HostGrid::Of(std::span<const int> host_of_rank, int rank) {
  HostGrid grid;
  std::vector<int> hosts;  // By their lowest ranks.
  for (std::size_t r = 0; r < host_of_rank.size(); ++r) {
    const auto found = std::ranges::find(hosts, host_of_rank[r]);
    const auto host = static_cast<std::size_t>(found - hosts.begin());
    if (found == hosts.end()) {
      hosts.push_back(host_of_rank[r]);
      grid.ranks_.emplace_back();
    }
    if (static_cast<int>(r) == rank) {
      grid.host_ = static_cast<int>(host);
      grid.place_ = static_cast<int>(grid.ranks_[host].size());
    }
    grid.ranks_[host].push_back(static_cast<int>(r));
  }
  if (grid.hosts() < 2 || grid.ranks_per_host() < 2) return std::nullopt;
  for (const std::vector<int>& ranks : grid.ranks_) {
    if (ranks.size() != grid.ranks_.front().size()) return std::nullopt;
  }
  return grid;
}

std::vector<int> HostGrid::Across() const {
  std::vector<int> across;
  for (const std::vector<int>& ranks : ranks_) {
    across.push_back(ranks[static_cast<std::size_t>(place_)]);
  }
  std::ranges::sort(across);  // Ranks of different hosts need not follow each other.
  return across;
}

}  // namespace weir
