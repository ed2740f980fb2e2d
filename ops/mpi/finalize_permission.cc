#include "ops/mpi/finalize_permission.h"

#include <sys/socket.h>

#include <cerrno>
#include <string>

#include "ops/membership/supervisor_socket.h"
#include "weir/error.h"

namespace weir::mpi {

using supervision::MessageType;

namespace {

constexpr FinalizePermission::Answer kJobEnds = {.all_would = false, .never_would = -1};

}  // namespace

FinalizePermission FinalizePermission::FromEnvironment() {
  return FinalizePermission(SupervisorSocket());
}

FinalizePermission::Answer FinalizePermission::Ask() {
  if (answer_) return *answer_;
  answer_ = {.all_would = true, .never_would = -1};
  if (!socket_) return *answer_;
  const bool sent = SendToSupervisor(socket_, {.type = MessageType::kFinalizing});
  answer_ = sent ? Receive() : kJobEnds;
  return *answer_;
}

FinalizePermission::Answer FinalizePermission::Receive() {
  std::string packet(supervision::kMaxFrame, '\0');
  while (true) {
    const ssize_t n = recv(socket_.get(), packet.data(), packet.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return kJobEnds;
    try {
      const std::string_view frame(packet.data(), static_cast<std::size_t>(n));
      switch (const auto message = supervision::Decode(frame); message.type) {
        case MessageType::kFinalize:
          return {.all_would = message.code != 0, .never_would = message.rank};
        case MessageType::kPeerLost:
        case MessageType::kAbort:
        case MessageType::kLauncherLost:
          return kJobEnds;
        default:
          break;  // A message meant for the engine.
      }
    } catch (const Corrupt&) {
      return kJobEnds;  // The other end is not a supervisor that would answer.
    }
  }
}

void FinalizePermission::Abort(const std::string& reason) {
  if (socket_) SendToSupervisor(socket_, {.type = MessageType::kAbort, .text = reason});
}

}  // namespace weir::mpi
