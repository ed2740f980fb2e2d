#pragma once

namespace weir::launcher {

/// Keeps what this process starts from inheriting the TCP sockets that listen here: those of
/// whoever has started it, which are none of the job's.
void KeepListenersFromChildren();

/// Keeps other hosts from the TCP sockets that this process has inherited and that listen on all
/// interfaces: Hydra's, which it leaves to all that it starts. For a job of one host. Does nothing
/// where the kernel has no filters for sockets.
void KeepOtherHostsFromInheritedListeners();

}  // namespace weir::launcher
