#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/link_bytes.h"

namespace weir {

/// What a rank tells the others of where it is.
struct RankLocation {
  std::int64_t host = 0;  ///< A number made of the host's name and its kernel's boot.
  std::int64_t local_rank = 0;
};

/// Of a rank of this machine.
RankLocation LocationOf(const std::string& host, int local_rank);

/// A number for each rank that the ranks of its host share, from what all ranks told. Hosts that
/// only a launcher tells apart, on one machine, are taken to have their local ranks in the same
/// order.
std::vector<int> HostsOf(std::span<const RankLocation> locations);

/// The links of `rank` to each process of a job, as far as is known: from what a launcher says of
/// the hosts of its ranks ("a:2,b:1", or nothing), or because all are on this host. Behind the
/// ranks there may be servers, of which nothing is said.
std::vector<Link> LinksOf(const std::string& hosts, int rank, int processes, int local_size);

/// Whether all hosts have the same number of ranks.
bool HostsAreAlike(std::span<const int> host_of_rank);

/// How many ranks each host has: "2 on each of 3 hosts", or "2, 2 and 1 on 3 hosts".
std::string RanksOnHosts(std::span<const int> host_of_rank);

}  // namespace weir
