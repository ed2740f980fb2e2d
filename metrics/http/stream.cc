#include "metrics/http/stream.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace weir {
namespace {

class PlainStream final : public HttpStream {
 public:
  explicit PlainStream(UniqueFd socket) : socket_(std::move(socket)) {}

  int fd() const override { return socket_.get(); }
  Result Read(std::span<char> buffer) override {
    return After(recv(fd(), buffer.data(), buffer.size(), MSG_DONTWAIT),
                 Result::State::kWaitsToRead);
  }
  Result Write(std::string_view bytes) override {
    return After(send(fd(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL),
                 Result::State::kWaitsToWrite);
  }
  void EndWriting() override { shutdown(fd(), SHUT_WR); }

 private:
  static Result After(ssize_t n, Result::State waits) {
    if (n > 0) return {.state = Result::State::kMoved, .bytes = static_cast<std::size_t>(n)};
    const bool again = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    return {.state = again ? waits : Result::State::kClosed};
  }

  const UniqueFd socket_;
};

}  // namespace

std::unique_ptr<HttpStream> MakePlainStream(UniqueFd socket) {
  return std::make_unique<PlainStream>(std::move(socket));
}

}  // namespace weir
