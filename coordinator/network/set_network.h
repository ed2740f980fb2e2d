#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "coordinator/network/gpu_network.h"
#include "ops/host_grid.h"
#include "ops/transport.h"
#include "weir/settings.h"

namespace weir {

/// The ranks of a process set and the network between them: what operations and routes exchange
/// over. Every rank knows the ranks of every set; only members have the network.
///
/// Ranks and names are constant and thread-safe. The network belongs to the network thread.
class SetNetwork {
 public:
  /// `ranks` of the job, ascending. Lane 0 is that of the whole job; any other keeps the set's
  /// messages apart (SubsetTransport). `network` and the rest outlive this.
  SetNetwork(int id, std::vector<int> ranks, std::uint32_t lane, Transport& network,
             const Settings& settings, const GpuOffers& gpu_offers);

  int id() const { return id_; }
  std::uint32_t lane() const { return lane_; }
  const std::vector<int>& ranks() const { return ranks_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  bool includes(int job_rank) const { return IndexOf(job_rank) >= 0; }
  /// The place of a rank of the job in the set; -1: it is no member.
  int IndexOf(int job_rank) const;
  /// "", or " of process set 3", to follow a name.
  std::string Suffix() const;
  /// This rank is one of the set's, and may ask for what follows.
  bool is_member() const { return transport_ != nullptr; }

  Transport& transport() const { return *transport_; }
  GpuNetwork& gpus() const { return *gpus_; }
  /// For collectives that are to go host by host; null where they are not.
  const HostGrid* allreduce_grid() const {
    const bool by_hosts = settings_.hierarchical_allreduce && !settings_.deterministic;
    return by_hosts && grid_ ? &*grid_ : nullptr;
  }
  const HostGrid* allgather_grid() const {
    return settings_.hierarchical_allgather && grid_ ? &*grid_ : nullptr;
  }

  /// The set's ranks by host, where a hierarchy of them means anything. `host_of_rank`, of all
  /// ranks of the job, as HostGrid wants it; only those of the set's are looked at.
  std::optional<HostGrid> GridOf(std::span<const int> host_of_rank) const;
  /// For the grids of collectives. Any thread, before anything is submitted that asks for a grid;
  /// any thread may ask for that.
  void SetHosts(std::span<const int> host_of_rank);

 private:
  const int id_;
  const std::vector<int> ranks_;
  const std::uint32_t lane_;
  const Settings& settings_;
  std::unique_ptr<Transport> subset_;  ///< Null in the set of the whole job.
  Transport* transport_ = nullptr;
  std::unique_ptr<GpuNetwork> gpus_;  ///< Outlives what was bound to it.
  std::optional<HostGrid> grid_;
};

}  // namespace weir
