#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "coordinator/plan/group_plan.h"
#include "coordinator/rank/coordinator.h"
#include "coordinator/servers/group_servers.h"
#include "weir/gradient_group.h"

namespace weir {

/// A group at summation servers that are not ranks of its set alone (weirrun --servers), or do not
/// wait for all of them (max_staleness): tells them what to serve, and when that is over.
/// Thread-safety as the group's.
class GroupServing {
 public:
  /// All must outlive the object.
  GroupServing(Coordinator& coordinator, const GradientGroupSpec& spec, const GroupPlan& plan);

  /// Whether the group has such servers.
  bool is_served() const { return is_served_; }
  /// Throws InvalidArgument for a group that servers cannot serve.
  void Check() const;
  /// Network thread, at the same place in every rank's order: numbers for the group's buckets.
  void TakeNumbers();
  /// Begins, once numbers are taken. Throws InvalidArgument without numbers, or for a group that
  /// takes too many bytes to describe.
  const GroupServers& Join();
  /// Ends, if it began.
  void Leave() const;

  const std::optional<GroupServers>& servers() const { return servers_; }
  /// A step begins: servers may have something of this rank from now on.
  void NoteStep() { pushed_ = true; }
  /// Throws InvalidArgument when servers remember more than a state says. `call`: what asks.
  void CheckAreNew(const char* call) const;

 private:
  Coordinator& coordinator_;
  const GradientGroupSpec& spec_;
  const GroupPlan& plan_;
  const bool is_served_;
  std::optional<std::uint32_t> first_number_;
  std::optional<GroupServers> servers_;
  bool pushed_ = false;
};

}  // namespace weir
