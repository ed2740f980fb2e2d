#include "metrics/pages/host_list.h"

#include <sstream>

namespace weir {

std::vector<HostRanks> ParseHostList(const std::string& text) {
  std::vector<HostRanks> hosts;
  std::istringstream list(text);
  for (std::string one; std::getline(list, one, ',');) {
    const std::size_t colon = one.rfind(':');
    int ranks = 0;
    if (colon == std::string::npos || !(std::istringstream(one.substr(colon + 1)) >> ranks)) {
      continue;
    }
    hosts.push_back({one.substr(0, colon), ranks});
  }
  return hosts;
}

}  // namespace weir
