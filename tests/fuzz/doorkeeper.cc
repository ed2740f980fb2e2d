// What strangers say at a door of the job: without the token nobody is let in, nothing but a
// challenge or the word about an old version comes back, and a connection that is at its end does
// not stay.
#include "common/supervision/doorkeeper.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "tests/fuzz/fuzz_target.h"

namespace weir::fuzz {
namespace {

using supervision::Doorkeeper;
using supervision::Message;
using supervision::MessageSocket;
using supervision::MessageType;

const supervision::Secret kFuzzSecret = supervision::Secret::OfWeirrun("the token");

/// A listener that the kernel names, and one connection to it.
struct Ends {
  Ends()
      : listener(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0)),
        stranger(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socklen_t size = sizeof address.sun_family;
    auto* at = reinterpret_cast<sockaddr*>(&address);
    WEIR_CHECK(bind(listener.get(), at, size) == 0 && listen(listener.get(), 1) == 0);
    size = sizeof address;
    WEIR_CHECK(getsockname(listener.get(), at, &size) == 0);
    WEIR_CHECK(connect(stranger.get(), at, size) == 0);
  }
  UniqueFd listener;
  UniqueFd stranger;
};

void Turn(Doorkeeper& door) {
  std::vector<pollfd> fds;
  door.AddPolls(fds);
  for (pollfd& fd : fds) fd.revents = POLLIN;
  WEIR_CHECK(door.Introduce(fds, {}).empty());
}

}  // namespace

void Run(std::span<const std::byte> bytes) {
  Input input(bytes);
  const std::size_t piece = 1 + input.Number(300);
  const std::string said = input.Text();
  Ends ends;
  Doorkeeper door(kFuzzSecret, 4, [](const std::string&) {});
  door.Accept(ends.listener, {});
  MessageSocket stranger(std::move(ends.stranger));
  for (std::size_t at = 0; at < said.size(); at += piece) {
    const std::string part = said.substr(at, piece);
    if (send(stranger.fd(), part.data(), part.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) break;
    Turn(door);
  }
  const std::vector<Message> heard = stranger.Receive();
  WEIR_CHECK(heard.size() <= 1);
  for (const Message& message : heard) {
    WEIR_CHECK(message.type == MessageType::kChallenge || message.type == MessageType::kAbort);
  }
  shutdown(stranger.fd(), SHUT_RDWR);
  Turn(door);
  std::vector<pollfd> waiting;
  door.AddPolls(waiting);
  WEIR_CHECK(waiting.empty());
}

std::vector<Bytes> Seeds() {
  const std::string nonce(supervision::kNonceBytes, 'n');
  const std::string hello = supervision::Encode({.type = MessageType::kHello,
                                                 .rank = 1,
                                                 .code = supervision::kVersion,
                                                 .host = "b",
                                                 .text = nonce});
  const std::string proof = supervision::Encode(
      {.type = MessageType::kProof, .text = std::string(supervision::kProofBytes, 'p')});
  const std::string old =
      supervision::Encode({.type = MessageType::kHello, .code = 8, .text = "token"});
  return {Seed({299}, hello + proof), Seed({hello.size() - 1}, hello + proof), Seed({0}, hello),
          Seed({299}, old)};
}

}  // namespace weir::fuzz
