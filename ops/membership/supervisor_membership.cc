#include "ops/membership/supervisor_membership.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

#include "ops/membership/no_membership.h"
#include "ops/membership/supervisor_socket.h"
#include "weir/error.h"

namespace weir {
namespace {

using supervision::Message;
using supervision::MessageType;

std::optional<MembershipEvent> ToEvent(Message message) {
  using Kind = MembershipEvent::Kind;
  MembershipEvent event{.kind = Kind::kAbort,
                        .rank = message.rank,
                        .host = std::move(message.host),
                        .text = std::move(message.text),
                        .number = message.code};
  switch (message.type) {
    case MessageType::kPeerLost:
      event.kind = Kind::kPeerLost;
      return event;
    case MessageType::kAbort:
      return event;
    case MessageType::kStatusRequest:
      event.kind = Kind::kStatusRequest;
      return event;
    case MessageType::kStatus:
      event.kind = Kind::kStatus;
      return event;
    case MessageType::kLauncherLost:
      event.kind = Kind::kLauncherLost;
      return event;
    case MessageType::kRecordFlight:
      event.kind = Kind::kRecordFlight;
      return event;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::unique_ptr<Membership> SupervisorMembership::FromEnvironment() {
  UniqueFd socket = SupervisorSocket();
  if (!socket) return std::make_unique<NoMembership>();
  return std::make_unique<SupervisorMembership>(std::move(socket));
}

SupervisorMembership::SupervisorMembership(UniqueFd socket)
    : owner_(getpid()),
      socket_(std::move(socket)),
      wake_(CheckedFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "make an eventfd")),
      packet_(supervision::kMaxFrame, '\0') {
  Send(MessageType::kAttach);
  thread_ = std::jthread([this] { Run(); });
  pthread_setname_np(thread_.native_handle(), "weir-members");
}

SupervisorMembership::~SupervisorMembership() {
  if (in_child()) {
    thread_.detach();  // fork() did not copy it.
    return;
  }
  if (joining_) Leave();  // Making the engine failed: nobody must wait for this rank.
  stopping_ = true;
  Wake();
}

void SupervisorMembership::Listen(Listener listener) {
  if (in_child()) return;
  const std::lock_guard lock(mutex_);
  listener_ = std::move(listener);
  listening_ = listener_ != nullptr;
  Wake();
}

void SupervisorMembership::Joined() {
  joining_ = false;
  Send(MessageType::kJoined);
}

void SupervisorMembership::Abort(const std::string& reason) {
  if (in_child() || aborted_.exchange(true)) return;
  Send(MessageType::kAbort, reason);
}

void SupervisorMembership::RequestStatus() { Send(MessageType::kStatusRequest); }
void SupervisorMembership::SendStatus(const std::string& text) { Send(MessageType::kStatus, text); }
void SupervisorMembership::SendTotals(const std::string& text) { Send(MessageType::kTotals, text); }
void SupervisorMembership::Leave() {
  joining_ = false;
  Send(MessageType::kLeave);
}

void SupervisorMembership::Run() {
  bool open = true;
  while (!stopping_) {
    // Without a listener events wait in the socket.
    std::array<pollfd, 2> fds = {
        {{open && listening_ ? socket_.get() : -1, POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
    if (poll(fds.data(), fds.size(), -1) < 0) continue;
    eventfd_t ignored = 0;
    if (fds[1].revents != 0) eventfd_read(wake_.get(), &ignored);
    if (fds[0].revents != 0 && !stopping_) open = Receive();
  }
}

bool SupervisorMembership::Receive() {
  const std::lock_guard lock(mutex_);
  if (!listener_) return true;
  const ssize_t n = recv(socket_.get(), packet_.data(), packet_.size(), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (n <= 0) {
    listener_({.kind = MembershipEvent::Kind::kLauncherLost,
               .rank = -1,
               .host = {},
               .text = "the supervisor of this rank has ended",
               .number = 0});
    return false;
  }
  try {
    const std::string_view frame(packet_.data(), static_cast<std::size_t>(n));
    if (const auto event = ToEvent(supervision::Decode(frame))) listener_(*event);
  } catch (const Corrupt&) {
    return true;  // A packet of a newer supervisor, or nonsense: neither means that a peer died.
  }
  return true;
}

void SupervisorMembership::Send(MessageType type, const std::string& text) {
  if (in_child()) return;
  SendToSupervisor(socket_, {.type = type, .text = text});
}

void SupervisorMembership::Wake() { eventfd_write(wake_.get(), 1); }

bool SupervisorMembership::in_child() const { return getpid() != owner_; }

}  // namespace weir
