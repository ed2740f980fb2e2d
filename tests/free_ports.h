#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

#include "common/unique_fd.h"

namespace weir {

inline bool CanListen(int port, std::vector<UniqueFd>& sockets) {
  sockets.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return bind(sockets.back().get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

/// Returns the first of `count` ports in a row that were free a moment ago, below the range
/// for other programs' connections.
inline int FreePorts(int count) {
  // Tests that run at the same time have neighbouring process ids.
  for (int base = 21000 + getpid() * 16 % 10000; base < 32000; base += count) {
    std::vector<UniqueFd> sockets;
    int free = 0;
    while (free < count && CanListen(base + free, sockets)) ++free;
    if (free == count) return base;
  }
  ADD_FAILURE() << "no free ports";
  return 0;
}

}  // namespace weir
