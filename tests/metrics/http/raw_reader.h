#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <stdexcept>
#include <string>

#include "common/unique_fd.h"

namespace weir {

/// A connection to 127.0.0.1 that follows no rules.
class RawReader {
 public:
  /// `receive_bytes`: roughly the bytes that the system buffers; 0: the default.
  explicit RawReader(int port, int receive_bytes = 0)
      : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_bytes > 0) {
      setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("nobody listens on port " + std::to_string(port));
    }
  }

  int fd() const { return socket_.get(); }
  void Send(const std::string& text) {
    send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  /// Reads up to the end, however it comes.
  std::string ReadAll() {
    std::string text;
    std::array<char, 65536> buffer;
    ssize_t n = 0;
    while ((n = recv(socket_.get(), buffer.data(), buffer.size(), 0)) > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(n));
    }
    return text;
  }
  /// Waits for the end.
  bool IsClosed() { return ReadAll().empty(); }
  /// True if no end has been seen yet.
  bool SeemsOpen() {
    pollfd ready{socket_.get(), POLLIN, 0};
    return poll(&ready, 1, 0) == 0;
  }

 private:
  UniqueFd socket_;
};

}  // namespace weir
