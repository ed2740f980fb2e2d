#pragma once

#include "coordinator/engine/engine_impl.h"
#include "weir/settings.h"

namespace weir {

/// A process (or thread, in a local job) that is a summation server and nothing else: one of the
/// last Settings::servers of its job. Serves until all ranks have left. Throws PeerLost when the
/// job ends otherwise, and Corrupt for what a rank pushed; then the job is ended.
void RunServer(const Settings& settings, EngineEnvironment environment);

}  // namespace weir
