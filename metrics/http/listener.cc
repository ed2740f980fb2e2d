#include "metrics/http/listener.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "weir/error.h"

namespace weir {
namespace {

constexpr int kSendBytes = 1 << 17;

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

[[noreturn]] void ThrowNoAddress(const std::string& address) {
  throw InvalidArgument("cannot listen on '" + address +
                        "', which is not an address; give one of this host, or 0.0.0.0 for all "
                        "(WEIR_METRICS_ADDRESS)");
}

/// Removes brackets: an IPv6 address before a port is written "[::1]".
std::string WithoutBrackets(const std::string& address) {
  const bool bracketed = address.size() > 2 && address.front() == '[' && address.back() == ']';
  return bracketed ? address.substr(1, address.size() - 2) : address;
}

Addresses Resolve(const std::string& address, int port) {
  // The system's resolver would ask a server for 999.1.1.1.
  in_addr parsed{};
  const bool numeric = address.find_first_not_of("0123456789.") == std::string::npos;
  if (numeric && inet_pton(AF_INET, address.c_str(), &parsed) != 1) ThrowNoAddress(address);
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(WithoutBrackets(address).c_str(), std::to_string(port).c_str(), &hints, &found) !=
      0) {
    ThrowNoAddress(address);
  }
  return {found, freeaddrinfo};
}

}  // namespace

UniqueFd HttpListener(const std::string& address, int port) {
  const Addresses addresses = Resolve(address, port);
  int error = 0;
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    UniqueFd socket(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    // Remains of the last job's connections, which last a minute, are not another program.
    setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    // Unread data must wait where it is counted, not in the system.
    setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &kSendBytes, sizeof kSendBytes);
    if (socket && bind(socket.get(), one->ai_addr, one->ai_addrlen) == 0 &&
        listen(socket.get(), SOMAXCONN) == 0) {
      return socket;
    }
    error = errno;
  }
  throw InvalidArgument(
      fmt::format("cannot listen on {}:{}: {}; another program may use port {}, or {} is not an "
                  "address of this "
                  "host",
                  address, port, std::strerror(error), port, address));
}

int BoundPort(const UniqueFd& socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &size);
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<sockaddr_in&>(bound).sin_port);
}

}  // namespace weir
