#include "common/supervision/message_socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "weir/error.h"

namespace weir::supervision {

MessageSocket::MessageSocket(UniqueFd socket) : socket_(std::move(socket)) {
  fcntl(fd(), F_SETFL, fcntl(fd(), F_GETFL) | O_NONBLOCK);
  const int on = 1;
  setsockopt(fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void MessageSocket::Send(const Message& message) {
  if (!open_) return;
  queue_ += Encode(message);
  Flush();
  if (queued() > kMaxQueued) open_ = false;
}

void MessageSocket::Flush() {
  while (open_ && queued() > 0) {
    const ssize_t n = send(fd(), queue_.data() + sent_, queued(), MSG_NOSIGNAL);
    if (n > 0) {
      sent_ += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    } else if (errno != EINTR) {
      open_ = false;
    }
  }
  if (queued() == 0 || sent_ > (std::size_t{1} << 20)) {
    queue_.erase(0, sent_);
    sent_ = 0;
  }
}

std::vector<Message> MessageSocket::Receive() {
  std::vector<Message> messages = std::exchange(put_back_, {});
  std::array<char, 65536> bytes;
  while (open_) {
    const ssize_t n = recv(fd(), bytes.data(), bytes.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (n <= 0) {
      open_ = false;
      break;
    }
    try {
      decoder_.Append({bytes.data(), static_cast<std::size_t>(n)});
      while (auto message = decoder_.Next()) messages.push_back(std::move(*message));
    } catch (const Corrupt&) {
      open_ = false;
      corrupt_ = true;
    }
    // One buffer a call keeps a talkative peer from starving the others.
    if (static_cast<std::size_t>(n) < bytes.size() || messages.size() > 64) break;
  }
  return messages;
}

}  // namespace weir::supervision
