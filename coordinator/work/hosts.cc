#include "coordinator/work/hosts.h"

#include <algorithm>
#include <bit>
#include <fstream>
#include <map>
#include <utility>

#include "metrics/pages/host_list.h"

namespace weir {
namespace {

std::map<int, int> CountRanks(std::span<const int> host_of_rank) {
  std::map<int, int> ranks;
  for (const int host : host_of_rank) ++ranks[host];
  return ranks;
}

}  // namespace

RankLocation LocationOf(const std::string& host, int local_rank) {
  // Machines may share a name, and the containers of one machine may have several.
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  // FNV-1a: the same on every machine, as std::hash need not be.
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : host + boot) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return {.host = std::bit_cast<std::int64_t>(hash), .local_rank = local_rank};
}

std::vector<int> HostsOf(std::span<const RankLocation> locations) {
  std::map<std::pair<std::int64_t, std::int64_t>, int> seen;
  std::map<std::pair<std::int64_t, int>, int> numbers;
  std::vector<int> hosts;
  for (const RankLocation& location : locations) {
    // A local rank that this name has had belongs to the next host of the name.
    const int namesake = seen[{location.host, location.local_rank}]++;
    const auto next = static_cast<int>(numbers.size());
    hosts.push_back(numbers.try_emplace({location.host, namesake}, next).first->second);
  }
  return hosts;
}

std::vector<Link> LinksOf(const std::string& hosts, int rank, int processes, int local_size) {
  const bool one_host = local_size >= processes;
  std::vector<Link> links(static_cast<std::size_t>(processes),
                          one_host ? Link::kIntra : Link::kUnknown);
  if (one_host) return links;
  // A host may stand there more than once, with runs of its ranks.
  std::vector<std::string> host_of;
  for (const auto& [host, ranks] : ParseHostList(hosts)) {
    const int end = std::min(static_cast<int>(host_of.size()) + ranks, processes);
    host_of.resize(static_cast<std::size_t>(end), host);
  }
  for (std::size_t r = 0; r < host_of.size(); ++r) {
    const bool here = std::cmp_less(rank, host_of.size()) &&
                      host_of[r] == host_of[static_cast<std::size_t>(rank)];
    links[r] = here ? Link::kIntra : Link::kInter;
  }
  return links;
}

bool HostsAreAlike(std::span<const int> host_of_rank) {
  const std::map<int, int> ranks = CountRanks(host_of_rank);
  return std::ranges::all_of(
      ranks, [&](const auto& entry) { return entry.second == ranks.begin()->second; });
}

std::string RanksOnHosts(std::span<const int> host_of_rank) {
  const std::map<int, int> ranks = CountRanks(host_of_rank);
  const std::string hosts = std::to_string(ranks.size()) + (ranks.size() == 1 ? " host" : " hosts");
  if (HostsAreAlike(host_of_rank)) {
    return std::to_string(ranks.begin()->second) + " on each of " + hosts;
  }
  std::string text;
  for (const auto& [host, count] : ranks) {
    const bool is_last = host == ranks.rbegin()->first;
    text += (text.empty() ? "" : is_last ? " and " : ", ") + std::to_string(count);
  }
  return text + " on " + hosts;
}

}  // namespace weir
