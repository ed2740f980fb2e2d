#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "coordinator/network/gpu_network.h"
#include "ops/collectives/host_grid.h"
#include "ops/transport/transport.h"
#include "weir/settings.h"

namespace weir {

/// The ranks of a process set and the network between them, which operations and routes use. Every
/// rank knows the ranks of every set; only members have the network.
///
/// Ranks and names are constant and thread-safe. The network belongs to the network thread.
class SetNetwork {
 public:
  /// `ranks` of the job, ascending. Lane 0 is the whole job's; any other keeps the set's messages
  /// apart (SubsetTransport). `network` and the rest must outlive this object.
  SetNetwork(int id, std::vector<int> ranks, std::uint32_t lane, Transport& network,
             const Settings& settings, const GpuOffers& gpu_offers);

  int id() const { return id_; }
  std::uint32_t lane() const { return lane_; }
  const std::vector<int>& ranks() const { return ranks_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  bool includes(int job_rank) const { return IndexOf(job_rank) >= 0; }
  /// Returns the place of a rank of the job in the set; -1: it is not a member.
  int IndexOf(int job_rank) const;
  /// Returns "", or " of process set 3", to follow a name.
  std::string Suffix() const;
  /// True if this rank is in the set, and may use the members below.
  bool is_member() const { return transport_ != nullptr; }

  Transport& transport() const { return *transport_; }
  GpuNetwork& gpus() const { return *gpus_; }
  /// Grid for collectives that go host by host; null if they do not.
  const HostGrid* allreduce_grid() const {
    const bool by_hosts = settings_.hierarchical_allreduce && !settings_.deterministic;
    return by_hosts && grid_ ? &*grid_ : nullptr;
  }
  const HostGrid* allgather_grid() const {
    return settings_.hierarchical_allgather && grid_ ? &*grid_ : nullptr;
  }

  /// Returns the set's ranks by host, if a hierarchy of them is useful. `host_of_rank`, for all
  /// ranks of the job, is as in HostGrid; only the set's are read.
  std::optional<HostGrid> GridOf(std::span<const int> host_of_rank) const;
  /// Sets the grids of collectives. Any thread, before anything that asks for a grid is
  /// submitted; any thread may then ask.
  void SetHosts(std::span<const int> host_of_rank);

 private:
  const int id_;
  const std::vector<int> ranks_;
  const std::uint32_t lane_;
  const Settings& settings_;
  std::unique_ptr<Transport> subset_;  ///< Null for the set of the whole job.
  Transport* transport_ = nullptr;
  std::unique_ptr<GpuNetwork> gpus_;  ///< Outlives collectives bound to it.
  std::optional<HostGrid> grid_;
};

}  // namespace weir
