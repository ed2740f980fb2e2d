#include "metrics/run_page.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "weir/version.h"

namespace weir {
namespace {

/// "a:2,b:1" as a list; what cannot be read is left out, as it is for people.
nlohmann::ordered_json Hosts(const std::string& text) {
  nlohmann::ordered_json hosts = nlohmann::ordered_json::array();
  std::istringstream list(text);
  for (std::string one; std::getline(list, one, ',');) {
    const std::size_t colon = one.rfind(':');
    int ranks = 0;
    if (colon == std::string::npos || !(std::istringstream(one.substr(colon + 1)) >> ranks))
      continue;
    hosts.push_back({{"host", one.substr(0, colon)}, {"ranks", ranks}});
  }
  return hosts;
}

}  // namespace

std::string RunPage(const Settings& settings, const RunInfo& info) {
  nlohmann::ordered_json page = {{"version", Version()},
                                 {"rank", info.rank},
                                 {"size", info.size},
                                 {"local_rank", info.local_rank},
                                 {"host", info.host}};
  if (!info.hosts.empty()) page["hosts"] = Hosts(info.hosts);
  for (const Settings::Entry& entry : settings.Entries()) {
    page["settings"][entry.variable] = {{"value", entry.value}, {"source", entry.source}};
  }
  // A setting may hold any bytes; a page that is not UTF-8 would be no JSON.
  return page.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace weir
