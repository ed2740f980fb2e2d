#include "launcher/job/parting.h"

#include <algorithm>
#include <tuple>

namespace weir::launcher {

std::vector<Parting::Leaver> Parting::Leavers(
    const std::vector<int>& processes,
    const std::function<std::string(int process)>& host_of) const {
  struct Side {
    std::map<std::string, int> unreached{};  ///< The first process, by the host it is on.
    int ranks = 0;
    std::size_t first = 0;
  };
  std::map<std::string, Side> hosts;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const auto [side, is_new] = hosts.try_emplace(host_of(processes[i]), Side{.first = i});
    ++side->second.ranks;
  }
  const auto part = [&](const std::string& host, int process, const std::string& other_host,
                        int other) {
    if (host == other_host || !hosts.contains(host) || !hosts.contains(other_host)) return;
    hosts[host].unreached.try_emplace(other_host, other);
    hosts[other_host].unreached.try_emplace(host, process);
  };
  for (const auto& [process, unheard] : reports_) {
    for (const int other : unheard) {
      // One that has not reported may have had nothing to say.
      if (reports_.contains(other)) part(host_of(process), process, host_of(other), other);
    }
  }
  for (const auto& [pair, other] : accused_) {
    const auto& [host, other_host] = pair;
    const bool again =
        accused_before_.contains(pair) || accused_before_.contains({other_host, host});
    const auto on_host = std::ranges::find(processes, host, host_of);
    if (again && on_host != processes.end()) part(host, *on_host, other_host, other);
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
