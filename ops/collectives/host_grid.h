#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace weir {

/// The ranks of a network by host, the same number on each, for hierarchical collectives.
class HostGrid {
 public:
  /// `host_of_rank[r]` is any number that the ranks of r's host share. Returns nothing unless at
  /// least two hosts have the same number of ranks, at least two: any other hierarchy would be the
  /// flat exchange, or leave ranks over.
  static std::optional<HostGrid> Of(std::span<const int> host_of_rank, int rank);

  int hosts() const { return static_cast<int>(ranks_.size()); }
  int ranks_per_host() const { return static_cast<int>(ranks_.front().size()); }
  /// This rank's host, in the order of their lowest ranks, and its place on it.
  int host() const { return host_; }
  int place() const { return place_; }
  int RankAt(int host, int place) const {
    return ranks_[static_cast<std::size_t>(host)][static_cast<std::size_t>(place)];
  }

  /// The ranks of this host, ascending.
  const std::vector<int>& local() const { return ranks_[static_cast<std::size_t>(host_)]; }
  /// Returns the rank with this one's place on each host, ascending.
  std::vector<int> Across() const;

 private:
  HostGrid() = default;

  std::vector<std::vector<int>> ranks_;  ///< By host and place.
  int host_ = 0;
  int place_ = 0;
};

}  // namespace weir
