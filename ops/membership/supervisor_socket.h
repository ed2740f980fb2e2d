#pragma once

#include "common/supervision/supervision.h"
#include "common/unique_fd.h"

namespace weir {

/// Returns the socket in WEIR_SUPERVISOR_FD to this process's supervisor, which weirrun started
/// (common/supervision/supervision.h): a duplicate of the descriptor, which itself is marked
/// close-on-exec and otherwise unchanged. Empty if the variable is not set. Throws InvalidArgument
/// when the variable does not name the supervisor's socket, when weirrun's version uses another
/// protocol (WEIR_SUPERVISOR_PROTOCOL), and when the process is out of descriptors.
UniqueFd SupervisorSocket();

/// The two ends of a connected Unix packet socket, for who is a supervisor in this very process.
/// Throws InvalidArgument when the process is out of descriptors.
struct SocketPair {
  UniqueFd engine;
  UniqueFd supervisor;
};
SocketPair MakeSocketPair();

/// Sends the supervisor one message. Waits for at most a second, because only a stopped supervisor
/// takes nothing. False when it could not be sent and is lost.
bool SendToSupervisor(const UniqueFd& socket, const supervision::Message& message);

/// Checks an `fd` that the system returned, needed to follow the supervisor ("cannot `what` to
/// ..."). Throws InvalidArgument with errno's text for an invalid one. Otherwise a process that is
/// out of descriptors would hear nothing and not know.
UniqueFd CheckedFd(int fd, const char* what);

}  // namespace weir
