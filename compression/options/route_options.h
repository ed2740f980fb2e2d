#pragma once

#include "compression/options/options.h"
#include "compression/options/policy.h"

namespace weir {

/// Returns what the options say of routes. Refuses what contradicts itself.
RouteSettings RouteOf(const ParsedOptions& options);

}  // namespace weir
