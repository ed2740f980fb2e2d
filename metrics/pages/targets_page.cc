#include "metrics/pages/targets_page.h"

#include <nlohmann/json.hpp>

#include "metrics/files/json_text.h"
#include "metrics/pages/host_list.h"

namespace weir {
namespace {

/// Returns the job's hosts, as a reader on this host reaches them.
std::vector<HostRanks> Reachable(const Settings& settings, const RunInfo& info) {
  std::vector<HostRanks> hosts = ParseHostList(info.hosts);
  if (hosts.empty() && info.size == 1) hosts.push_back({info.host, 1});
  // On one host the address is the one listened to, because its name may mean another one.
  const std::string& address = settings.metrics_address;
  if (hosts.size() == 1 && address != "0.0.0.0" && address != "[::]") hosts[0].host = address;
  return hosts;
}

}  // namespace

std::vector<Target> Targets(const Settings& settings, const RunInfo& info) {
  std::vector<Target> targets;
  for (const auto& [host, ranks] : Reachable(settings, info)) {
    for (int local = 0; local < ranks; ++local) {
      targets.push_back({.rank = static_cast<int>(targets.size()),
                         .host = host,
                         .address = host + ":" + std::to_string(settings.metrics_port + local),
                         .tls = !settings.metrics_certificate.empty()});
    }
  }
  return targets;
}

std::string TargetsPage(const std::vector<Target>& targets) {
  nlohmann::ordered_json page = nlohmann::ordered_json::array();
  for (const Target& target : targets) {
    nlohmann::ordered_json labels = {{"rank", std::to_string(target.rank)}, {"host", target.host}};
    if (target.tls) labels["__scheme__"] = "https";  // Prometheus's own label for the scheme.
    page.push_back({{"targets", {target.address}}, {"labels", std::move(labels)}});
  }
  return JsonText(page, 2) + "\n";
}

}  // namespace weir
