#include "ops/membership/supervisor_membership.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <optional>
#include <utility>

#include "common/check.h"
#include "common/supervision/addresses.h"
#include "common/supervision/heartbeat.h"
#include "ops/membership/abort_text.h"
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
    case MessageType::kHostsUpdated:
      event.kind = Kind::kHostsUpdated;
      return event;
    case MessageType::kRecordFlight:
      event.kind = Kind::kRecordFlight;
      return event;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::unique_ptr<SupervisorMembership> SupervisorMembership::FromEnvironment() {
  UniqueFd socket = SupervisorSocket();
  if (!socket) return nullptr;
  return std::make_unique<SupervisorMembership>(std::move(socket));
}

SupervisorMembership::SupervisorMembership(UniqueFd socket, std::shared_ptr<void> relay)
    : owner_(getpid()),
      relay_(std::make_unique<std::shared_ptr<void>>(std::move(relay))),
      socket_(std::move(socket)),
      wake_(CheckedFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "make an eventfd")),
      packet_(supervision::kMaxFrame, '\0') {
  Send(MessageType::kAttach);
  thread_ = std::jthread([this] { Run(); });
  pthread_setname_np(thread_.native_handle(), "weir-members");
}

SupervisorMembership::~SupervisorMembership() {
  if (in_child()) {
    thread_.detach();  // fork() did not copy it, nor those of the relay.
    static_cast<void>(relay_.release());
    return;
  }
  if (joining_) Leave();  // Making the engine failed: nobody must wait for this rank.
  stopping_ = true;
  Wake();
  // A forked child may hold the socket open, and the relay waits for its end.
  if (*relay_) shutdown(socket_.get(), SHUT_RDWR);
}

void SupervisorMembership::Listen(Listener listener) {
  if (in_child()) return;
  const std::lock_guard lock(mutex_);
  listener_ = std::move(listener);
  reading_ = listener_ != nullptr;
  Wake();
}

Rendezvous::Meeting SupervisorMembership::Meet(const std::string& address,
                                               std::chrono::milliseconds timeout) {
  WEIR_CHECK(!address.empty());
  if (address.size() > supervision::kMaxAddress) {
    throw InvalidArgument("this rank's network address has " + std::to_string(address.size()) +
                          " bytes, and " + std::to_string(supervision::kMaxAddress) +
                          " are allowed: use fewer devices (--network-interfaces, "
                          "UCX_NET_DEVICES)");
  }
  std::unique_lock lock(mutex_);
  meeting_.emplace();
  expected_ = 0;
  reading_ = true;
  Send(MessageType::kAddress, address);
  Wake();
  bool has_met = false;
  try {
    has_met = met_.wait_for(lock, timeout, [this] {
      ThrowIfOver();
      return expected_ != 0 && meeting_->addresses.size() == expected_;
    });
  } catch (...) {
    reading_ = listener_ != nullptr;
    meeting_.reset();
    throw;
  }
  reading_ = listener_ != nullptr;
  Meeting meeting = *std::exchange(meeting_, std::nullopt);
  if (has_met) return meeting;
  throw TimedOut("not all ranks joined the job within " + std::to_string(timeout.count()) + " ms",
                 {.tensor = {}, .ranks = {}, .phase = "start"});
}

supervision::Place SupervisorMembership::AwaitPlace() {
  std::unique_lock lock(mutex_);
  reading_ = true;
  Wake();
  const auto is_lost = [](const MembershipEvent& event) {
    return event.kind == MembershipEvent::Kind::kLauncherLost;
  };
  met_.wait(lock, [&] { return place_.has_value() || std::ranges::any_of(kept_, is_lost); });
  reading_ = listener_ != nullptr;
  if (place_) return *place_;
  throw PeerLost("the launcher of this job is gone", {.tensor = {}, .ranks = {}, .phase = "start"});
}

void SupervisorMembership::ThrowIfOver() const {
  using Kind = MembershipEvent::Kind;
  for (const MembershipEvent& event : kept_) {
    const ErrorContext context{
        .tensor = {},
        .ranks = event.rank < 0 ? std::vector<int>{} : std::vector<int>{event.rank},
        .phase = "start"};
    const std::string who =
        "rank " + std::to_string(event.rank) + (event.host.empty() ? "" : " on " + event.host);
    switch (event.kind) {
      case Kind::kPeerLost:
        throw PeerLost(who + " is lost before it joined the job: " + event.text, context);
      case Kind::kAbort:
        std::rethrow_exception(ErrorOfAbort(event, who, {}, context));
      case Kind::kLauncherLost:
        throw PeerLost("the launcher of this job is gone: " + event.text, context);
      default:
        break;
    }
  }
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
void SupervisorMembership::SendUnheard(const std::optional<std::vector<int>>& ranks) {
  SendRanks(ranks ? 1 : 0, ranks.value_or(std::vector<int>{}));
}

void SupervisorMembership::SendNetworkLost(const std::vector<int>& ranks) { SendRanks(2, ranks); }

void SupervisorMembership::SendRanks(int code, const std::vector<int>& ranks) {
  if (in_child()) return;
  const std::string text = fmt::format("{}", fmt::join(ranks, ","));
  SendToSupervisor(socket_, {.type = MessageType::kUnheard, .code = code, .text = text});
}

void SupervisorMembership::SendReady() { Send(MessageType::kReady); }
void SupervisorMembership::Leave() {
  joining_ = false;
  Send(MessageType::kLeave);
}

void SupervisorMembership::Run() {
  using std::chrono::milliseconds;
  bool open = true;
  Clock::time_point next_pulse = Clock::now();
  while (!stopping_) {
    next_pulse = Pulse(next_pulse);
    const auto left = std::chrono::ceil<milliseconds>(next_pulse - Clock::now()).count();
    // Events wait in the socket until somebody wants them.
    std::array<pollfd, 2> fds = {
        {{open && reading_ ? socket_.get() : -1, POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
    const auto timeout = static_cast<int>(std::max<milliseconds::rep>(left, 0));
    if (poll(fds.data(), fds.size(), timeout) < 0) continue;
    eventfd_t ignored = 0;
    if (fds[1].revents != 0) eventfd_read(wake_.get(), &ignored);
    if (stopping_) break;
    TellKept();
    if (fds[0].revents != 0) open = Receive();
  }
  SendToSupervisor(socket_, {.type = MessageType::kPulse, .code = 0});
}

SupervisorMembership::Clock::time_point SupervisorMembership::Pulse(Clock::time_point due) {
  const Clock::time_point now = Clock::now();
  if (now < due) return due;
  SendToSupervisor(socket_, {.type = MessageType::kPulse, .code = 1});
  return now + supervision::kHeartbeatEvery;
}

void SupervisorMembership::TellKept() {
  const std::lock_guard lock(mutex_);
  if (!listener_) return;
  for (const MembershipEvent& event : std::exchange(kept_, {})) listener_(event);
}

void SupervisorMembership::Tell(const MembershipEvent& event) {
  if (listener_ && kept_.empty()) return listener_(event);
  kept_.push_back(event);
  if (listener_) return Wake();  // After what came before it.
  met_.notify_all();
}

bool SupervisorMembership::Receive() {
  const std::lock_guard lock(mutex_);
  if (!reading_) return true;
  const ssize_t n = recv(socket_.get(), packet_.data(), packet_.size(), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (n <= 0) {
    Tell({.kind = MembershipEvent::Kind::kLauncherLost,
          .rank = -1,
          .host = {},
          .text = "the supervisor of this rank has ended",
          .number = 0});
    return false;
  }
  try {
    const std::string_view frame(packet_.data(), static_cast<std::size_t>(n));
    OnMessage(supervision::Decode(frame));
  } catch (const Corrupt&) {
    return true;  // A packet of a newer supervisor, or nonsense: neither means that a peer died.
  }
  return true;
}

void SupervisorMembership::OnMessage(const Message& message) {
  if (message.type == MessageType::kAddresses) return OnAddresses(message);
  if (message.type == MessageType::kPlace) return OnPlace(message);
  if (const auto event = ToEvent(message)) Tell(*event);
}

void SupervisorMembership::OnAddresses(const Message& message) {
  if (!meeting_ || message.code < 1 || message.rank < 0 || message.rank >= message.code) return;
  const auto ranks = static_cast<std::size_t>(message.code);
  supervision::AppendAddresses(message.text, ranks, meeting_->addresses);
  meeting_->rank = message.rank;
  expected_ = ranks;
  met_.notify_all();
}

void SupervisorMembership::OnPlace(const Message& message) {
  auto place = supervision::ReadPlace(message);
  if (!place) return;
  kept_.clear();
  place_ = std::move(place);
  met_.notify_all();
}

void SupervisorMembership::Send(MessageType type, const std::string& text) {
  if (in_child()) return;
  SendToSupervisor(socket_, {.type = type, .text = text});
}

void SupervisorMembership::Wake() { eventfd_write(wake_.get(), 1); }

bool SupervisorMembership::in_child() const { return getpid() != owner_; }

}  // namespace weir
