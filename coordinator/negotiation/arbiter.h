#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/negotiation/request.h"
#include "coordinator/negotiation/slot_cache.h"

namespace weir {

/// Rank 0's side of the slow path: collects every rank's requests, compares them, and assigns ids.
/// No threads, no network. Not thread-safe.
///
/// While some ranks have joined, the others' requests are enough. No single
/// operation has a slot then, so that each of them passes here: the answer tells the
/// joined ranks what to take part in.
class Arbiter {
 public:
  /// `ranks`: numbers of the members in the job, for messages. `cache_capacity`: most
  /// single operations with a slot. Beyond it a name asks every time, until another name
  /// has not been used for long (SlotCache) and gives up its slot. That is never a slot
  /// that this rank waits for, as told by `wanted`. Another rank may wait for it, which is
  /// not known here: it then asks again.
  Arbiter(
      std::vector<int> ranks, std::uint32_t cache_capacity,
      std::function<bool(std::uint32_t slot)> wanted = [](std::uint32_t) { return false; });

  /// Begins a round in which these slots are ready: none of them is forgotten before the
  /// next, except for a rank that joins.
  void BeginRound(std::span<const std::uint32_t> ready);

  /// Adds the same request of `count` members from `first` on, each of which asks for a name at
  /// most once until the answer.
  void Add(int first, int count, const std::shared_ptr<const Request>& request);
  /// Adds that of one member.
  void Add(int member, Request request) {
    Add(member, 1, std::make_shared<const Request>(std::move(request)));
  }

  /// Returns the due answers, in an order that every rank follows. Empties the list.
  std::vector<Response> Take();

 private:
  /// Requests for a name by member, who share equal ones; null: it has not asked.
  struct Asked {
    std::vector<std::shared_ptr<const Request>> by_member;
    std::size_t missing = 0;  ///< Members that have not asked and have not joined.
  };

  void Join(std::size_t member);
  /// Tells all ranks that one asks about a step.
  void CallOthers(int rank, const Request& request);
  /// Tells all ranks what one has planned.
  void Announce(int rank, const Request& request);
  /// Answers requests that everybody has made.
  void DecideComplete();
  void Decide(const std::string& name, const Asked& asked);
  /// Returns why the operation cannot run without the joined ranks.
  Response Unsupported(const Request& request) const;
  std::uint32_t Assign(const Request& request);
  void Forget(const std::string& name);
  bool AnyJoined() const;

  const std::vector<int> ranks_;
  const std::function<bool(std::uint32_t slot)> wanted_;
  std::map<std::string, Asked> pending_;
  std::vector<std::string> asked_;  ///< Since the last Take, in order.
  std::vector<bool> joined_;        ///< By member.
  std::size_t joined_count_ = 0;
  std::size_t last_joined_ = 0;
  SlotCache singles_;
  std::vector<std::uint32_t> free_slots_;
  std::uint32_t next_slot_ = 0;
  std::vector<Response> responses_;
};

}  // namespace weir
