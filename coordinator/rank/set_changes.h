#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/rank/ending.h"
#include "coordinator/sets/process_sets.h"

namespace weir {

/// Makes and removes process sets, by agreement of the whole job, and knows the groups of gradients
/// that use them. Thread-safe.
class SetChanges {
 public:
  /// Uses `agree` to submit an operation to the whole job and to wait for it.
  SetChanges(int rank, Ending& ending, ProcessSets& sets, std::function<void(Submission)> agree)
      : rank_(rank), ending_(ending), sets_(sets), agree_(std::move(agree)) {}

  /// Makes a process set of these ranks of the job, ascending, and returns its id. Collective and
  /// blocking. Throws InvalidArgument on every rank if there is such a set already, or no room.
  int Add(std::vector<int> ranks);
  /// Removes a set. Collective and blocking. Throws InvalidArgument, or Mismatch, on every rank if
  /// any of them still uses something of it.
  void Remove(int id);

  /// Reserves a name for a group of gradients of a set while the result lives. Throws
  /// InvalidArgument for a name that is in use.
  std::shared_ptr<const void> ClaimGroup(const ProcessSet& set, const std::string& name);

 private:
  /// Agrees on a change of the process sets, made by `change` at the same place in every rank's
  /// order of operations.
  void Agree(const std::string& what, std::function<void()> change);
  /// Returns what is in use of a process set on this rank; "": nothing.
  std::string InUse(ProcessSet& set);

  const int rank_;
  Ending& ending_;
  ProcessSets& sets_;
  const std::function<void(Submission)> agree_;
  std::mutex mutex_;  ///< Allows one change at a time.
  std::mutex groups_mutex_;
  std::set<std::pair<int, std::string>> groups_;  ///< Process set and name of groups that live.
};

}  // namespace weir
