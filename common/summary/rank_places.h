#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace weir {

/// Names a process for people by its rank: "rank 1", or where its output has another number "rank 1
/// (process 4 of the output)". A `rank` of -1: "process 4 of the output".
std::string RankName(int process, int rank);

/// Places of a job's processes, for people: ranks, and after them summation servers.
class RankPlaces {
 public:
  /// hosts[r] is the host of process r; the last `servers` are servers.
  explicit RankPlaces(std::vector<std::string> hosts, int servers = 0)
      : hosts_(std::move(hosts)), servers_(static_cast<std::size_t>(servers)) {}

  /// Adds a rank of an elastic job, which has no servers.
  void Add(const std::string& host) { hosts_.push_back(host); }

  /// Sets the ranks that the processes of an elastic job have had, as of Job::ranks.
  void SetRanks(std::vector<int> ranks) { rank_of_ = std::move(ranks); }

  std::size_t size() const { return hosts_.size(); }
  std::size_t servers() const { return servers_; }
  std::size_t ranks() const { return size() - servers_; }
  const std::string& host(std::size_t process) const { return hosts_[process]; }

  bool serves(int process) const { return std::cmp_greater_equal(process, ranks()); }

  /// Describes processes, which ascend: "ranks 0-1 on a, rank 2 on b, summation server 0 on b".
  std::string Of(const std::vector<int>& processes) const;
  std::string Of(int process) const { return Of(std::vector<int>{process}); }

 private:
  /// Writes "rank 2", "ranks 0-1", "summation servers 0-2".
  std::string Names(int first, int last) const;

  int RankOf(int process) const {
    return rank_of_.empty() ? process : rank_of_[static_cast<std::size_t>(process)];
  }

  std::vector<std::string> hosts_;
  std::size_t servers_;
  std::vector<int> rank_of_;  // Empty: each has its own number.
};

}  // namespace weir
