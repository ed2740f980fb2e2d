#pragma once

#include <string>

#include "coordinator/plan/step_time.h"
#include "coordinator/rank/coordinator.h"

namespace weir {

/// Measures what the network between the ranks of a set carries, by all-reduces of growing size,
/// until one takes long enough: the bytes are those that a rank sends. Blocking, for about 50 ms
/// or, on a network of less than 10 Mb/s, the time of 64 KiB; all ranks of the set call it at once,
/// apart from those that have joined. The result is the same on all of them. `owner` names the
/// caller.
HostLink ProbeNetwork(Coordinator& coordinator, ProcessSet& set, const std::string& owner);

}  // namespace weir
