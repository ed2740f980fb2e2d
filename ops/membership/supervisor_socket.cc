#include "ops/membership/supervisor_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "weir/error.h"

namespace weir {
namespace {

void LimitSends(const UniqueFd& socket) {
  constexpr timeval kSendTimeout{.tv_sec = 1, .tv_usec = 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kSendTimeout, sizeof kSendTimeout);
}

bool IsPacketSocket(int fd) {
  int domain = 0;
  int type = 0;
  socklen_t size = sizeof domain;
  return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
         getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

/// Checks that weirrun and this library have the same protocol; they may be from two installations.
void CheckProtocol() {
  const char* text = std::getenv(supervision::kProtocolVariable);
  const std::string theirs = text == nullptr ? "none" : text;
  const std::string own = std::to_string(supervision::kVersion);
  if (theirs == own) return;
  throw InvalidArgument("weirrun and this library are of different versions (protocol " + theirs +
                        ", here " + own + "): start the program with the weirrun of its own Weir");
}

}  // namespace

UniqueFd SupervisorSocket() {
  const char* text = std::getenv(supervision::kEngineFdVariable);
  if (text == nullptr) return {};
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  const int fd = static_cast<int>(number);
  if (end == text || *end != '\0' || number < 0 || number > 1 << 20 || !IsPacketSocket(fd)) {
    throw InvalidArgument(
        std::string(supervision::kEngineFdVariable) + " is '" + text +
        "', which is not the socket to this rank's supervisor; a wrapper that starts the program "
        "must leave that descriptor open (in Python: close_fds=False), or unset the variable");
  }
  CheckProtocol();
  // A later engine in this process may use the original; programs that it runs must not.
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  UniqueFd socket = CheckedFd(fcntl(fd, F_DUPFD_CLOEXEC, 0), "duplicate the socket");
  LimitSends(socket);
  return socket;
}

SocketPair MakeSocketPair() {
  int ends[2] = {-1, -1};
  const int made = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
  SocketPair pair{.engine = CheckedFd(made == 0 ? ends[0] : -1, "make a pair of sockets"),
                  .supervisor = UniqueFd(ends[1])};
  LimitSends(pair.engine);
  LimitSends(pair.supervisor);
  return pair;
}

bool SendToSupervisor(const UniqueFd& socket, const supervision::Message& message) {
  const std::string packet = supervision::Encode(message);
  ssize_t n = 0;
  do {
    n = send(socket.get(), packet.data(), packet.size(), MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  return n >= 0;
}

UniqueFd CheckedFd(int fd, const char* what) {
  if (fd >= 0) return UniqueFd(fd);
  const int error = errno;
  const char* advice = error == EMFILE ? "; raise the limit on open files (ulimit -n)" : "";
  throw InvalidArgument(std::string("cannot ") + what +
                        " to follow this rank's supervisor: " + std::strerror(error) + advice);
}

}  // namespace weir
