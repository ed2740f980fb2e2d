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

/// The process sets of a job as one rank knows them. The network thread adds and removes them in
/// the order in which all ranks agree on it, so that ids and lanes are the same everywhere; any
/// thread may look one up. A removed set stays as an object, as a thread may be submitting to it.
class ProcessSets {
 public:
  /// Begins with the global set.
  ProcessSets(Transport& network, const ProcessSet::Shared& shared);

  ProcessSet& global() const { return *global_; }
  /// Returns a set. Throws InvalidArgument for an id that does not exist, or no longer does.
  ProcessSet& Find(int id) const;
  /// Returns a set as Find does. Throws InvalidArgument also if this rank is no member.
  ProcessSet& FindOwn(int id) const;
  /// Makes FindOwn refuse the set from now on, as it is about to be removed. OpenDoor takes that
  /// back. One set at a time.
  void CloseDoor(int id) { closed_door_ = id; }
  void OpenDoor() { closed_door_ = kNone; }
  /// Returns the ranks of a set; none if it does not exist.
  std::vector<int> RanksOf(int id) const;
  /// Returns the id of the set of exactly these ranks, if there is one.
  std::optional<int> IdOf(std::span<const int> ranks) const;
  /// True if the network has no room for the messages of another set.
  bool full() const;
  /// Returns the most sets at a time, the global one not counted. The last lanes are those of
  /// summation servers (ServerLinks).
  std::uint32_t capacity() const { return capacity_; }

  /// Tells all sets, future ones too, which ranks share a host (SetNetwork::SetHosts).
  void SetHosts(std::vector<int> host_of_rank);

  // Members for the network thread only.

  int Add(std::vector<int> ranks);
  void Remove(int id);
  /// Returns the sets that this rank is a member of, the global one first.
  const std::vector<ProcessSet*>& own() const { return own_; }

 private:
  ProcessSet* Get(int id) const;

  static constexpr int kNone = -1;

  Transport& network_;
  const ProcessSet::Shared shared_;
  const std::uint32_t capacity_;
  std::atomic<int> closed_door_ = kNone;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<ProcessSet>> sets_;  ///< Indexed by id; removed ones stay.
  std::set<int> removed_;
  std::set<std::uint32_t> lanes_;  ///< Lanes in use.
  std::vector<int> host_of_rank_;  ///< Empty until SetHosts.
  ProcessSet* global_ = nullptr;
  std::vector<ProcessSet*> own_;
};

}  // namespace weir
