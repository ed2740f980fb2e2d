#include "metrics/pages/run_page.h"

#include <nlohmann/json.hpp>

#include "metrics/files/json_text.h"
#include "metrics/pages/host_list.h"
#include "weir/version.h"

namespace weir {
namespace {

nlohmann::ordered_json Hosts(const std::string& text) {
  nlohmann::ordered_json hosts = nlohmann::ordered_json::array();
  for (const auto& [host, ranks] : ParseHostList(text)) {
    hosts.push_back({{"host", host}, {"ranks", ranks}});
  }
  return hosts;
}

}  // namespace

std::string RunPage(const Settings& settings, const RunInfo& info) {
  nlohmann::ordered_json page = {
      {"version", Version()}, {"rank", info.rank},
      {"size", info.size},    {"local_rank", info.local_rank},
      {"host", info.host},    {"unix_time_at_0_ns", JobTimeAtZeroNs(info)}};
  if (const std::string job = JobId(info); !job.empty()) page["job"] = job;
  if (info.clock) {
    page["clock"] = {{"offset_to_rank_0_ns", info.clock->offset_ns},
                     {"error_ns", info.clock->error_ns}};
  }
  if (!info.network.empty()) page["network"] = info.network;
  if (!info.hosts.empty()) page["hosts"] = Hosts(info.hosts);
  for (const Settings::Entry& entry : settings.Entries()) {
    page["settings"][entry.variable] = {{"value", entry.value}, {"source", entry.source}};
  }
  return JsonText(page, 2) + "\n";
}

}  // namespace weir
