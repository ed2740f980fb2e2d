#include "ops/mpi/finalization.h"

#include <sys/socket.h>

#include <cerrno>
#include <string>

#include "ops/supervisor_socket.h"
#include "weir/error.h"

namespace weir::mpi {

using supervision::MessageType;

Finalization Finalization::FromEnvironment() { return Finalization(SupervisorSocket()); }

bool Finalization::AllHaveCome() {
  if (!socket_) return true;
  Send(MessageType::kFinalizing);
  std::string packet(supervision::kMaxFrame, '\0');
  while (true) {
    const ssize_t n = recv(socket_.get(), packet.data(), packet.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    try {
      const std::string_view frame(packet.data(), static_cast<std::size_t>(n));
      switch (const auto message = supervision::Decode(frame); message.type) {
        case MessageType::kFinalize:
          return message.code != 0;
        case MessageType::kPeerLost:
        case MessageType::kAbort:
        case MessageType::kLauncherLost:
          return false;
        default:
          break;  // What was meant for the engine.
      }
    } catch (const Corrupt&) {
      return false;  // Whoever speaks there, it is not a supervisor that would answer.
    }
  }
}

void Finalization::Send(MessageType type) {
  if (socket_) SendToSupervisor(socket_, {.type = type});
}

}  // namespace weir::mpi
