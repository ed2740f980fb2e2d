#pragma once

#include <string>

#include "common/supervision/message_socket.h"

namespace weir::launcher {

/// Connects a rank's supervisor to weirrun, at the first of "ip:port,ip:port" that answers. Both
/// ends then know that the other has the job's token. `hello` is kHello or kOutputHello. Messages
/// may have come already: call Receive before you wait for some. Throws InvalidArgument, after 25 s
/// or so where nothing answers.
supervision::MessageSocket ReachWeirrun(const std::string& addresses, const std::string& token,
                                        int rank, supervision::MessageType hello);

}  // namespace weir::launcher
