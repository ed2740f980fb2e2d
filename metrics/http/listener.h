#pragma once

#include <string>

#include "common/unique_fd.h"

namespace weir {

/// A socket that listens, without blocking, on an address of this host, by number or name; port 0
/// is any free one. Throws InvalidArgument that names both when that cannot be.
UniqueFd HttpListener(const std::string& address, int port);

/// The port that a socket is bound to.
int BoundPort(const UniqueFd& socket);

}  // namespace weir
