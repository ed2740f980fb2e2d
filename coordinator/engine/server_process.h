#pragma once

#include "coordinator/engine/engine_impl.h"
#include "weir/settings.h"

namespace weir {

/// Runs a process (or a thread, in a local job) that is only a summation server: one of the last
/// Settings::servers of its job. Serves until all ranks have left. Throws PeerLost when the job
/// ends otherwise, and Corrupt for a rank's wrong push; then the job is ended.
void RunServer(const Settings& settings, EngineEnvironment environment);

}  // namespace weir
