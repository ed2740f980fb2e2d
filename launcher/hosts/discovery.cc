#include "launcher/hosts/discovery.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/text/parse_number.h"
#include "weir/error.h"

namespace weir::launcher {

std::vector<Host> ParseDiscoveredHosts(const std::vector<std::string>& lines, int slots) {
  std::vector<Host> hosts;
  for (const std::string& line : lines) {
    const std::size_t begin = line.find_first_not_of(" \t\r\n");
    if (begin == std::string::npos) continue;
    const std::string text = line.substr(begin, line.find_last_not_of(" \t\r\n") + 1 - begin);
    const std::string where = "'" + text + "'";
    const std::size_t colon = text.find(':');
    const auto count = colon == std::string::npos ? std::optional(slots)
                                                  : ParseNumber<int>(text.substr(colon + 1));
    if (!count || *count < 1) {
      throw InvalidArgument(where +
                            " is not a host and its slots; write one a line, as in node-a:2");
    }
    std::vector<Host> one;
    AddHost(one, where, text.substr(0, colon), *count);
    Host& host = one.front();
    const auto known = std::ranges::find(hosts, host.name, &Host::name);
    if (known == hosts.end()) {
      hosts.push_back(std::move(host));
    } else {
      *known = std::move(host);
    }
  }
  return hosts;
}

}  // namespace weir::launcher
