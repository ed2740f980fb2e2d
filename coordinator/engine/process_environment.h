#pragma once

#include "coordinator/engine/engine_impl.h"
#include "weir/settings.h"

namespace weir {

/// Returns the launcher's place for this process in its job: network, membership, host. A process
/// has one at a time, while the environment's `connect` lives; throws InvalidArgument for another.
EngineEnvironment ProcessEnvironment(const Settings& settings);

}  // namespace weir
