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

/// Connects a group to summation servers that are not ranks of its set alone (weirrun --servers),
/// or do not wait for all of them (max_staleness): tells them what to serve, and when that is over.
/// Thread-safety is the group's.
class GroupServing {
 public:
  /// Keeps its arguments, which must outlive it.
  GroupServing(Coordinator& coordinator, const GradientGroupSpec& spec, const GroupPlan& plan);

  /// True if the group has such servers.
  bool is_served() const { return is_served_; }
  /// Throws InvalidArgument for a group that servers cannot serve.
  void Check() const;
  /// Takes numbers for the buckets. Network thread, at the same place in every rank's order.
  void TakeNumbers();
  /// Makes the servers serve the group, once numbers are taken. Throws InvalidArgument without
  /// numbers, or for a group that takes too many bytes to describe.
  const GroupServers& Join();
  /// Ends the service, if it began.
  void Leave() const;

  const std::optional<GroupServers>& servers() const { return servers_; }
  /// Notes that a step begins: servers may have something of this rank from now on.
  void NoteStep() { pushed_ = true; }
  /// Throws InvalidArgument about `call` if servers remember more than a state says.
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
