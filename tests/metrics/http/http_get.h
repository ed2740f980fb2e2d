#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

namespace weir {

struct HttpReply {
  int status = 0;
  std::string headers;
  std::string body;
};

/// Sends a plain GET to 127.0.0.1, to see exactly what the server sends.
inline HttpReply HttpGet(int port, const std::string& path, const std::string& header = {},
                         const std::string& method = "GET") {
  const int socket_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket_fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    close(socket_fd);
    throw std::runtime_error("nobody listens on port " + std::to_string(port));
  }
  const std::string request = method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" +
                              (header.empty() ? "" : header + "\r\n") + "\r\n";
  std::string text;
  if (send(socket_fd, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    char buffer[4096];
    ssize_t count = 0;
    while ((count = read(socket_fd, buffer, sizeof(buffer))) > 0) {
      text.append(buffer, static_cast<std::size_t>(count));
    }
  }
  close(socket_fd);
  const std::size_t split = text.find("\r\n\r\n");
  if (split == std::string::npos) throw std::runtime_error("no HTTP reply: " + text);
  return {std::stoi(text.substr(9, 3)), text.substr(0, split), text.substr(split + 4)};
}

}  // namespace weir
