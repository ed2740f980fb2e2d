#include "common/supervision/tcp.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <sstream>

#include "common/text/parse_number.h"
#include "weir/error.h"

namespace weir::supervision {
namespace {

struct Interface {
  std::string name;
  std::string address;
  bool loopback;
};

std::vector<Interface> Interfaces() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  std::vector<Interface> result;
  for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != AF_INET) continue;
    if ((i->ifa_flags & IFF_UP) == 0) continue;
    char text[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr, text,
              sizeof text);
    result.push_back({i->ifa_name, text, (i->ifa_flags & IFF_LOOPBACK) != 0});
  }
  return result;
}

/// Returns the errno of the attempt, 0 for success.
int ConnectTo(int fd, const sockaddr_in& address, std::chrono::milliseconds timeout) {
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  if (connect(fd, where, sizeof address) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd wait{.fd = fd, .events = POLLOUT, .revents = 0};
  if (poll(&wait, 1, static_cast<int>(timeout.count())) <= 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

}  // namespace

UniqueFd Listen(const std::string& address, std::uint16_t port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  if (inet_pton(AF_INET, address.c_str(), &at.sin_addr) != 1) {
    throw InvalidArgument("'" + address + "' is not an address of the form 1.2.3.4");
  }
  // A port is needed again as soon as who listened there before has gone.
  const int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (!socket || bind(socket.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 ||
      listen(socket.get(), SOMAXCONN) != 0) {
    throw InvalidArgument("cannot listen on " + address + ":" + std::to_string(port) + ": " +
                          std::strerror(errno));
  }
  return socket;
}

std::uint16_t PortOf(const UniqueFd& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

UniqueFd Accept(const UniqueFd& listener) {
  return UniqueFd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

std::string PeerOf(const UniqueFd& connection) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (getpeername(connection.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return "an address that is gone";
  }
  char text[INET_ADDRSTRLEN];
  inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
  return std::string(text) + ":" + std::to_string(ntohs(address.sin_port));
}

std::vector<std::string> HostAddresses(const std::vector<std::string>& interfaces) {
  const std::vector<Interface> all = Interfaces();
  std::vector<std::string> result;
  if (interfaces.empty()) {
    for (const Interface& i : all) {
      if (!i.loopback) result.push_back(i.address);
    }
    return result;
  }
  for (const std::string& name : interfaces) {
    const auto found = std::ranges::find(all, name, &Interface::name);
    if (found == all.end()) {
      throw InvalidArgument("network interface '" + name +
                            "' does not exist here, is down, or has no IPv4 address");
    }
    result.push_back(found->address);
  }
  return result;
}

bool IsLocalHost(const std::string& host) {
  char own[256] = {};
  gethostname(own, sizeof own - 1);
  const std::string full = own;
  if (host == "localhost" || host == full || host == full.substr(0, full.find('.'))) return true;
  addrinfo hints{};
  hints.ai_family = AF_INET;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return false;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  char text[INET_ADDRSTRLEN];
  inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr, text,
            sizeof text);
  if (std::string(text).starts_with("127.")) return true;
  const std::vector<Interface> own_interfaces = Interfaces();
  return std::ranges::find(own_interfaces, text, &Interface::address) != own_interfaces.end();
}

std::string Resolve(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0) {
    throw InvalidArgument("the host '" + host + "' is not known: " + gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  std::string addresses;
  for (const addrinfo* i = found; i != nullptr; i = i->ai_next) {
    char text[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(i->ai_addr)->sin_addr, text,
              sizeof text);
    addresses += (addresses.empty() ? "" : ",") + std::string(text) + ":" + std::to_string(port);
  }
  return addresses;
}

UniqueFd Connect(const std::string& addresses, std::chrono::milliseconds timeout) {
  std::string answers;
  std::istringstream list(addresses);
  for (std::string one; std::getline(list, one, ',');) {
    const std::size_t colon = one.rfind(':');
    sockaddr_in address{};
    address.sin_family = AF_INET;
    const auto port = ParseNumber<std::uint16_t>(
        colon == std::string::npos ? "" : std::string_view(one).substr(colon + 1));
    if (!port || inet_pton(AF_INET, one.substr(0, colon).c_str(), &address.sin_addr) != 1) {
      throw InvalidArgument("'" + one + "' is not an address of the form ip:port");
    }
    address.sin_port = htons(*port);
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int error = socket ? ConnectTo(socket.get(), address, timeout) : errno;
    if (error == 0) return socket;
    answers += (answers.empty() ? "" : "; ") + one + ": " + std::strerror(error);
  }
  throw InvalidArgument("no answer (" + answers + ")");
}

}  // namespace weir::supervision
