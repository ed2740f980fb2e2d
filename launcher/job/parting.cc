#include "launcher/job/parting.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace weir::launcher {

bool Parting::Waits(int process, int other) const {
  const auto found = awaited_.find(process);
  return found != awaited_.end() && std::ranges::count(found->second, other) > 0;
}

// Most ranks wait for those who wait themselves. Two that wait for each other are parted; where no
// two do, whom one waits for who waits for nobody has sent what never came.
std::vector<std::pair<int, int>> Parting::Parted() const {
  std::vector<std::pair<int, int>> mutual, final, all;
  for (const auto& [process, others] : awaited_) {
    for (const int other : others) {
      all.emplace_back(process, other);
      if (Waits(other, process)) mutual.emplace_back(process, other);
      if (!awaited_.contains(other)) final.emplace_back(process, other);
    }
  }
  return !mutual.empty() ? mutual : !final.empty() ? final : all;
}

std::vector<Parting::Leaver> Parting::Leavers(
    const std::vector<int>& processes,
    const std::function<std::string(int process)>& host_of) const {
  struct Side {
    std::map<std::string, int> unreached{};  ///< The first process, by the host it is on.
    int ranks = 0;
    std::size_t first = 0;
  };
  if (!exchange_stands_still_) return {};
  std::map<std::string, Side> hosts;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const auto [side, is_new] = hosts.try_emplace(host_of(processes[i]), Side{.first = i});
    ++side->second.ranks;
  }
  for (const auto& [process, other] : Parted()) {
    const std::string host = host_of(process), other_host = host_of(other);
    if (host == other_host || !hosts.contains(host) || !hosts.contains(other_host)) continue;
    hosts[host].unreached.try_emplace(other_host, other);
    hosts[other_host].unreached.try_emplace(host, process);
  }
  std::vector<Leaver> leavers;
  while (true) {
    const auto worst = std::ranges::max_element(hosts, {}, [](const auto& entry) {
      const Side& side = entry.second;
      return std::tuple(side.unreached.size(), -side.ranks, side.first);
    });
    if (worst == hosts.end() || worst->second.unreached.empty()) return leavers;
    const std::string host = worst->first;
    leavers.push_back({.host = host, .unreached = worst->second.unreached.begin()->second});
    hosts.erase(worst);
    for (auto& [name, side] : hosts) side.unreached.erase(host);
  }
}

}  // namespace weir::launcher
