#include "launcher/start/inherited_listeners.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <filesystem>
#include <system_error>
#include <vector>

#include "common/text/parse_number.h"

namespace weir::launcher {
namespace {

bool Listens(int fd) {
  int listens = 0;
  socklen_t size = sizeof listens;
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0;
}

bool ListensEverywhere(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  return Listens(fd) && getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
         address.sin_family == AF_INET && address.sin_addr.s_addr == htonl(INADDR_ANY);
}

/// Drops every packet but those from 127.x.x.x and those from the address that they are for: the
/// host's own, whichever of its addresses they use. Such packets of others the kernel drops itself.
void TakeOwnPacketsOnly(int fd) {
  constexpr auto kSource = static_cast<std::uint32_t>(SKF_NET_OFF + 12);
  constexpr auto kDestination = static_cast<std::uint32_t>(SKF_NET_OFF + 16);
  std::array<sock_filter, 10> program = {{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, kSource},
      {BPF_ST, 0, 0, 0},
      {BPF_ALU | BPF_AND | BPF_K, 0, 0, 0xff000000},
      {BPF_JMP | BPF_JEQ | BPF_K, 4, 0, 0x7f000000},
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, kDestination},
      {BPF_MISC | BPF_TAX, 0, 0, 0},
      {BPF_LD | BPF_MEM, 0, 0, 0},
      {BPF_JMP | BPF_JEQ | BPF_X, 0, 1, 0},
      {BPF_RET | BPF_K, 0, 0, 0xffffffff},
      {BPF_RET | BPF_K, 0, 0, 0},
  }};
  const sock_fprog filter{.len = program.size(), .filter = program.data()};
  setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
}

/// Returns the open descriptors of this process; none where they cannot be listed.
std::vector<int> Descriptors() {
  std::vector<int> all;
  std::error_code trouble;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", trouble), end;
       !trouble && entry != end; entry.increment(trouble)) {
    if (const auto fd = ParseNumber<int>(entry->path().filename().native())) all.push_back(*fd);
  }
  return all;
}

}  // namespace

void KeepListenersFromChildren() {
  for (const int fd : Descriptors()) {
    if (Listens(fd)) fcntl(fd, F_SETFD, fcntl(fd, F_GETFD) | FD_CLOEXEC);
  }
}

void KeepOtherHostsFromInheritedListeners() {
  for (const int fd : Descriptors()) {
    if (ListensEverywhere(fd)) TakeOwnPacketsOnly(fd);
  }
}

}  // namespace weir::launcher
