#include "launcher/rank_environment.h"

#include <cstdlib>

#include "common/supervision.h"
#include "weir/error.h"

namespace weir::launcher {

Settings PrepareEnvironment(const Options& options) {
  std::string origins;
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  for (const auto& [name, origin] : options.origins) origins += name + "=" + origin + "\n";
  setenv(supervision::kOriginsVariable, origins.c_str(), 1);
  setenv(supervision::kHostsVariable, HostsText(HostsOfRanks(options.hosts, options.ranks)).c_str(),
         1);
  Settings settings = Settings::FromEnvironment();
  if (settings.strict && !options.notices.empty()) {
    std::string all;
    for (const std::string& notice : options.notices) all += (all.empty() ? "" : "; ") + notice;
    throw InvalidArgument("strict settings (--strict, WEIR_STRICT): " + all);
  }
  return settings;
}

}  // namespace weir::launcher
