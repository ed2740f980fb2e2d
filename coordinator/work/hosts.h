#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/link_bytes.h"

namespace weir {

/// A rank's location, as it tells the others.
struct RankLocation {
  std::int64_t host = 0;  ///< Hash of the host's name and its kernel's boot id.
  std::int64_t local_rank = 0;
};

/// Returns the location of a rank of this machine.
RankLocation LocationOf(const std::string& host, int local_rank);

/// Returns, for each rank, a number that its host's ranks share, from the locations of all ranks.
/// Hosts that only a launcher tells apart, on one machine, are assumed to have their local ranks in
/// the same order.
std::vector<int> HostsOf(std::span<const RankLocation> locations);

/// Returns the links of `rank` to each process of a job, as far as is known: from a launcher's list
/// of its ranks' hosts ("a:2,b:1", or nothing), or because all are on this host. Servers may follow
/// the ranks; the list does not mention them.
std::vector<Link> LinksOf(const std::string& hosts, int rank, int processes, int local_size);

/// True if all hosts have the same number of ranks.
bool HostsAreAlike(std::span<const int> host_of_rank);

/// Returns the number of ranks on each host: "2 on each of 3 hosts", or "2, 2 and 1 on 3 hosts".
std::string RanksOnHosts(std::span<const int> host_of_rank);

}  // namespace weir
