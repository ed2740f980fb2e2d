#pragma once

#include <string>

#include "common/unique_fd.h"

namespace weir {

/// Returns a non-blocking socket that listens on an address of this host, by number or name; port 0
/// is any free one. Throws InvalidArgument that names both when that is impossible.
UniqueFd HttpListener(const std::string& address, int port);

/// Returns the port that a socket is bound to.
int BoundPort(const UniqueFd& socket);

}  // namespace weir
