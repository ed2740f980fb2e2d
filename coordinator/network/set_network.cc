#include "coordinator/network/set_network.h"

#include <algorithm>

#include "ops/transport/subset_transport.h"

namespace weir {

SetNetwork::SetNetwork(int id, std::vector<int> ranks, std::uint32_t lane, Transport& network,
                       const Settings& settings, const GpuOffers& gpu_offers)
    : id_(id), ranks_(std::move(ranks)), lane_(lane), settings_(settings) {
  if (!includes(network.rank())) return;
  transport_ = &network;
  if (lane != 0) {
    subset_ = std::make_unique<SubsetTransport>(network, ranks_, lane);
    transport_ = subset_.get();
  }
  gpus_ = std::make_unique<GpuNetwork>(gpu_offers, *transport_);
}

int SetNetwork::IndexOf(int job_rank) const {
  const auto found = std::ranges::lower_bound(ranks_, job_rank);
  if (found == ranks_.end() || *found != job_rank) return -1;
  return static_cast<int>(found - ranks_.begin());
}

std::string SetNetwork::Suffix() const {
  return id_ == 0 ? "" : " of process set " + std::to_string(id_);
}

std::optional<HostGrid> SetNetwork::GridOf(std::span<const int> host_of_rank) const {
  std::vector<int> hosts;
  for (const int rank : ranks_) hosts.push_back(host_of_rank[static_cast<std::size_t>(rank)]);
  return HostGrid::Of(hosts, transport_->rank());
}

void SetNetwork::SetHosts(std::span<const int> host_of_rank) {
  if (is_member()) grid_ = GridOf(host_of_rank);
}

}  // namespace weir
