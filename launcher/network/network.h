#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "common/unique_fd.h"

/// The few socket calls that weirrun and its supervisors need (IPv4). All sockets close on exec.
namespace weir::launcher {

/// Listens on a free port, of the loopback interface or of all. Throws InvalidArgument.
UniqueFd Listen(bool loopback_only);
std::uint16_t PortOf(const UniqueFd& socket);

/// Returns the next waiting connection, or none and errno (EAGAIN: nobody waits). Never blocks.
UniqueFd Accept(const UniqueFd& listener);

/// Returns addresses of this host's interfaces that are up, without loopback; only of `interfaces`
/// when that is not empty. Throws InvalidArgument for an interface that does not exist.
std::vector<std::string> HostAddresses(const std::vector<std::string>& interfaces);

/// True if a host's name or address means this machine.
bool IsLocalHost(const std::string& host);

/// Connects to the first of "ip:port,ip:port" that answers within `timeout` each. Throws
/// InvalidArgument with every address's answer.
UniqueFd Connect(const std::string& addresses, std::chrono::milliseconds timeout);

}  // namespace weir::launcher
