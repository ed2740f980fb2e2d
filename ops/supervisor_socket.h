#pragma once

#include "common/supervision.h"
#include "common/unique_fd.h"

namespace weir {

/// The socket in WEIR_SUPERVISOR_FD to this process's supervisor, which weirrun started
/// (common/supervision.h): a duplicate of the descriptor, which itself is marked close-on-exec and
/// otherwise left as it is. Empty where the variable is not set. Throws InvalidArgument when the
/// variable does not name the supervisor's socket, when weirrun is of a version that says other
/// things there (WEIR_SUPERVISOR_PROTOCOL), and when the process is out of descriptors.
UniqueFd SupervisorSocket();

/// Gives the supervisor one message. Waits for a second at most: only a stopped supervisor takes
/// nothing. False when it could not be sent and is lost.
bool SendToSupervisor(const UniqueFd& socket, const supervision::Message& message);

/// `fd`, which the system was asked for to follow the supervisor ("cannot `what` to ..."). Throws
/// InvalidArgument with errno's text when there is none: without this a process that is out of
/// descriptors would hear nothing and not know.
UniqueFd CheckedFd(int fd, const char* what);

}  // namespace weir
