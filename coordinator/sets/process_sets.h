#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "coordinator/sets/process_set.h"

namespace weir {

/// The process sets of a job as one rank knows them. The network thread adds and removes them, in
/// the order in which all ranks agree on it, so that ids and lanes are the same everywhere; any
/// thread may look one up. A removed set stays as an object: somebody may just be submitting to it.
class ProcessSets {
 public:
  /// Begins with the global set.
  ProcessSets(Transport& network, const ProcessSet::Shared& shared);

  ProcessSet& global() const { return *global_; }
  /// Throws InvalidArgument for an id that does not exist, or does no more.
  ProcessSet& Find(int id) const;
  /// Find, and throws InvalidArgument when this rank is no member.
  ProcessSet& FindOwn(int id) const;
  /// From now on FindOwn refuses the set: it is about to be removed. OpenDoor takes that back. One
  /// set at a time.
  void CloseDoor(int id) { closed_door_ = id; }
  void OpenDoor() { closed_door_ = kNone; }
  /// The ranks of a set; none when it does not exist.
  std::vector<int> RanksOf(int id) const;
  /// Of a set of exactly these ranks.
  std::optional<int> IdOf(std::span<const int> ranks) const;
  /// Whether the network has room for the messages of another set.
  bool full() const;
  /// Most sets at a time, the global one not counted. The last lanes are those of summation
  /// servers (ServerLinks).
  std::uint32_t capacity() const { return capacity_; }

  /// Tells all sets, those to come too, which ranks share a host (SetNetwork::SetHosts).
  void SetHosts(std::vector<int> host_of_rank);

  // Network thread.

  int Add(std::vector<int> ranks);
  void Remove(int id);
  /// Those that this rank is a member of, the global one first.
  const std::vector<ProcessSet*>& own() const { return own_; }

 private:
  ProcessSet* Get(int id) const;

  static constexpr int kNone = -1;

  Transport& network_;
  const ProcessSet::Shared shared_;
  const std::uint32_t capacity_;
  std::atomic<int> closed_door_ = kNone;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<ProcessSet>> sets_;  ///< By id, removed ones too.
  std::set<int> removed_;
  std::set<std::uint32_t> lanes_;  ///< In use.
  std::vector<int> host_of_rank_;  ///< Empty: nobody has asked.
  ProcessSet* global_ = nullptr;
  std::vector<ProcessSet*> own_;
};

}  // namespace weir
