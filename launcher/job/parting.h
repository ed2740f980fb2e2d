#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace weir::launcher {

/// Finds out which hosts do not reach each other, while weirrun reaches both, from whom their ranks
/// wait for in vain. Numbers are those of processes. Does no input or output. Not thread-safe.
class Parting {
 public:
  /// `process` waits for `other`, among others.
  void Note(int process, int other, bool in_exchange) {
    if (other != process) awaited_[process].push_back(other);
    exchange_stands_still_ |= in_exchange;
  }
  /// `process` waits for nobody any more.
  void Forget(int process) { awaited_.erase(process); }
  void Clear() { *this = {}; }

  /// A host that the others should go on without, and the process elsewhere that one of its own
  /// does not reach.
  struct Leaver {
    std::string host;
    int unreached = -1;
  };
  /// Returns the hosts that have to leave for all to reach each other: as few as a greedy choice
  /// gives. It takes the host that is parted from most others; among equals the one with the fewest
  /// of `processes`, then the one whose first process is last. `processes` are those that exchange,
  /// by rank. Empty: nobody is parted, as where all agree on what to exchange: that may wait for a
  /// program.
  std::vector<Leaver> Leavers(const std::vector<int>& processes,
                              const std::function<std::string(int process)>& host_of) const;

 private:
  /// Who waits for whom with nobody else to blame.
  std::vector<std::pair<int, int>> Parted() const;
  bool Waits(int process, int other) const;

  std::map<int, std::vector<int>> awaited_;
  bool exchange_stands_still_ = false;
};

}  // namespace weir::launcher
