#pragma once

#include <cstdint>
#include <string>

#include "launcher/options/options.h"

namespace weir::launcher {

/// How supervisors reach weirrun, and what they have to know of it.
struct Contact {
  std::string addresses;  ///< "ip:port,ip:port".
  std::string token;
  std::string grace_seconds;
};

/// Returns the address that weirrun listens on: no other interface than supervisors need is opened.
std::string ListenAddress(const Options& options);

/// Returns the addresses by which supervisors find `port`. Throws InvalidArgument when this host
/// has none that others could reach.
std::string ContactAddresses(const Options& options, std::uint16_t port);

}  // namespace weir::launcher
