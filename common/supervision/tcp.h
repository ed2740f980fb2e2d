#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "common/unique_fd.h"

/// The few socket calls that connections of supervision need (IPv4). All sockets close on exec and
/// never block.
namespace weir::supervision {

/// Listens on an address of this host ("0.0.0.0": all of them) and a port (0: any free one). Throws
/// InvalidArgument that names both.
UniqueFd Listen(const std::string& address, std::uint16_t port = 0);
std::uint16_t PortOf(const UniqueFd& socket);

/// Returns the next waiting connection, or none and errno (EAGAIN: nobody waits). Never blocks.
UniqueFd Accept(const UniqueFd& listener);

/// Returns the address of a connection's other end, for people: "1.2.3.4:5".
std::string PeerOf(const UniqueFd& connection);

/// Returns addresses of this host's interfaces that are up, without loopback; only of `interfaces`
/// when that is not empty. Throws InvalidArgument for an interface that does not exist.
std::vector<std::string> HostAddresses(const std::vector<std::string>& interfaces);

/// True if a host's name or address means this machine.
bool IsLocalHost(const std::string& host);

/// Returns "ip:port,ip:port" of all addresses of a host. Throws InvalidArgument for a name that is
/// not known. May wait for a name server.
std::string Resolve(const std::string& host, std::uint16_t port);

/// Connects to the first of "ip:port,ip:port" that answers within `timeout` each. Throws
/// InvalidArgument with every address's answer.
UniqueFd Connect(const std::string& addresses, std::chrono::milliseconds timeout);

}  // namespace weir::supervision
