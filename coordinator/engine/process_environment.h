#pragma once

#include "coordinator/engine/engine_impl.h"
#include "weir/settings.h"

namespace weir {

/// The place in its job that the launcher gave this process: network, membership, host. A process
/// has one at a time, while the environment's `connect` lives; throws InvalidArgument for another.
EngineEnvironment ProcessEnvironment(const Settings& settings);

}  // namespace weir
