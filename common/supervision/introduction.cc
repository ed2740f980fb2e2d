#include "common/supervision/introduction.h"

#include <poll.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace weir::supervision {
namespace {

using Clock = std::chrono::steady_clock;

/// Waits for the next message. Nothing if the connection ends, or the time does.
std::optional<Message> AwaitMessage(MessageSocket& socket, Clock::time_point deadline) {
  while (true) {
    std::vector<Message> messages = socket.Receive();
    if (!messages.empty()) {
      Message first = std::move(messages.front());
      messages.erase(messages.begin());
      socket.PutBack(std::move(messages));
      return first;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (!socket.open() || left.count() <= 0) return {};
    pollfd wait{socket.fd(), POLLIN, 0};
    poll(&wait, 1, static_cast<int>(left.count()));
  }
}

}  // namespace

Introduction Introduce(UniqueFd connection, Message hello, const Secret& secret,
                       std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  hello.code = kVersion;
  hello.text = Nonce();
  Introduction result;
  MessageSocket socket(std::move(connection));
  socket.Send(hello);
  const std::optional<Message> challenge = AwaitMessage(socket, deadline);
  result.answered = challenge.has_value();
  if (!challenge || challenge->type != MessageType::kChallenge ||
      challenge->text.size() != kNonceBytes) {
    result.why =
        "who listens there does not answer as this version of Weir does: another program, another "
        "user or another version has the port";
    return result;
  }
  socket.Send({.type = MessageType::kProof, .text = Proof(secret, End::kAsks, hello, *challenge)});
  const std::optional<Message> proof = AwaitMessage(socket, deadline);
  if (!proof || proof->type != MessageType::kProof) {
    result.why = "who listens there does not take this job's token";
  } else if (!IsProof(proof->text, secret, End::kListens, hello, *challenge)) {
    result.why =
        "who listens there does not know this job's token, and was told nothing: another user or "
        "another job has the port";
  } else {
    result.version = challenge->code;
    result.socket = std::move(socket);
  }
  return result;
}

}  // namespace weir::supervision
