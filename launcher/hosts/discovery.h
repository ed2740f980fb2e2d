#pragma once

#include <string>
#include <vector>

#include "launcher/hosts/hosts.h"

namespace weir::launcher {

/// Reads what a host discovery script has written: a host a line, "a:2", or "a" with `slots` of
/// them. A host that comes again replaces the earlier one. Throws InvalidArgument that names the
/// line.
std::vector<Host> ParseDiscoveredHosts(const std::vector<std::string>& lines, int slots);

}  // namespace weir::launcher
