#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace weir::launcher {

/// Finds out which hosts do not reach each other, while weirrun reaches both, from whom their ranks
/// do not hear while all of them stand still. Numbers are those of processes. Does no input or
/// output. Not thread-safe.
class Parting {
 public:
  /// `process` stands still, and hears from all that do but `unheard`.
  void Report(int process, std::set<int> unheard) { reports_[process] = std::move(unheard); }
  /// `process` moves again.
  void Forget(int process) { reports_.erase(process); }
  /// The network of a rank on `host` has lost `process`, on `other_host`, which lives. Once is an
  /// accident; in two epochs in a row the hosts are parted.
  void Accuse(const std::string& host, const std::string& other_host, int process) {
    accused_[{host, other_host}] = process;
  }
  /// Begins another epoch.
  void Clear() {
    reports_.clear();
    accused_before_ = std::exchange(accused_, {});
  }

  /// A host that the others should go on without, and the process elsewhere that one of its own
  /// does not reach.
  struct Leaver {
    std::string host;
    int unreached = -1;
  };
  /// Returns the hosts that have to leave for all to reach each other: as few as a greedy choice
  /// gives. It takes the host that is parted from most others; among equals the one with the fewest
  /// of `processes`, then the one whose first process is last. `processes` are those that exchange,
  /// by rank. Empty: nobody is parted.
  std::vector<Leaver> Leavers(const std::vector<int>& processes,
                              const std::function<std::string(int process)>& host_of) const;

 private:
  using Accusations = std::map<std::pair<std::string, std::string>, int>;

  std::map<int, std::set<int>> reports_;
  Accusations accused_;
  Accusations accused_before_;
};

}  // namespace weir::launcher
