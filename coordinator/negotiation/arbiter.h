#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "coordinator/negotiation/request.h"
#include "coordinator/negotiation/slot_cache.h"

namespace weir {

/// Rank 0's side of the slow path: collects what every rank asks for, compares it, and gives ids.
/// No threads, no network. Not thread-safe.
///
/// While some ranks have joined, the others' requests are enough. No single operation has a slot
/// then, so that each of them passes here: the answer tells those who have joined what to take part
/// in.
class Arbiter {
 public:
  /// `ranks`: what the members are called in the job, for its sentences. `cache_capacity`: how many
  /// single operations may hold a slot. Beyond them a name asks every time, until another has not
  /// been used for long (SlotCache) and is forgotten in its favour; never one of whose slot
  /// `wanted` says that this rank waits for it. That another rank does is not known here: it then
  /// asks again.
  Arbiter(
      std::vector<int> ranks, std::uint32_t cache_capacity,
      std::function<bool(std::uint32_t slot)> wanted = [](std::uint32_t) { return false; });

  /// A round begins, and these slots are ready in it: none of them is forgotten before the next,
  /// but for a rank that joins.
  void BeginRound(std::span<const std::uint32_t> ready);

  /// Member `member` asks. It asks for a name at most once until the answer.
  void Add(int member, Request request);

  /// The answers that are due, in an order that every rank follows. Empties the list.
  std::vector<Response> Take();

 private:
  using ByMember = std::vector<std::optional<Request>>;

  void Join(std::size_t member);
  /// Answers what everybody has asked for.
  void DecideComplete();
  /// Everybody has asked who still does.
  bool Complete(const ByMember& requests) const;
  void Decide(const std::string& name, ByMember requests);
  /// Why the operation cannot run without those who have joined.
  Response Unsupported(const Request& request) const;
  std::uint32_t Assign(const Request& request);
  void Forget(const std::string& name);
  bool AnyJoined() const;

  const std::vector<int> ranks_;
  const std::function<bool(std::uint32_t slot)> wanted_;
  std::map<std::string, ByMember> pending_;
  std::vector<std::string> asked_;  ///< Since the last Take, in order.
  std::vector<bool> joined_;        ///< By member.
  std::size_t last_joined_ = 0;
  SlotCache singles_;
  std::vector<std::uint32_t> free_slots_;
  std::uint32_t next_slot_ = 0;
  std::vector<Response> responses_;
};

}  // namespace weir
