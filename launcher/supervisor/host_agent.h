#pragma once

#include <string>

namespace weir::launcher {

/// `weirrun --supervise-host NAME`, which weirrun starts once on each host where no process manager
/// does: reads its HostJob from stdin, and keeps a supervisor for each rank of the host NAME
/// (empty: that of SLURMD_NODENAME). What follows on stdin is rank 0's. Returns once all of them
/// have ended.
int RunHostAgent(const std::string& name);

}  // namespace weir::launcher
