#include "ops/hub/hub_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "common/supervision/heartbeat.h"
#include "common/supervision/tcp.h"
#include "common/threads/thread_name.h"
#include "ops/membership/supervisor_socket.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using supervision::Message;
using supervision::MessageType;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kLongestStop{2000};
constexpr milliseconds kBetweenPolls{100};
// They are descriptors of the training program.
constexpr std::size_t kMaxStrangers = 64;

/// Takes as long wherever the first difference is.
bool SameToken(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

}  // namespace

HubServer::HubServer(Options options)
    : options_(std::move(options)),
      listener_(supervision::Listen(options_.address, options_.port)),
      port_(supervision::PortOf(listener_)),
      stop_(CheckedFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "make an eventfd")),
      peers_(options_.ranks),
      hub_(options_.ranks, options_.start_timeout,
           [this](int rank, const Message& message) { Send(rank, message); }),
      next_heartbeat_(Clock::now()),
      thread_([this] { Run(); }) {}

HubServer::~HubServer() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
  // A forked child may hold them open.
  shutdown(listener_.get(), SHUT_RDWR);
  for (const auto& peer : peers_) {
    if (peer) shutdown(peer->socket.fd(), SHUT_RDWR);
  }
}

void HubServer::Run() {
  NameThread("weir-hub");
  while (!Done(Clock::now())) {
    Wait(Clock::now());
    OnTime(Clock::now());
  }
}

bool HubServer::Done(Time now) { return stopping_ && (hub_.idle() || now >= stops_by_); }

void HubServer::Wait(Time now) {
  enum : std::size_t { kListener, kStop, kFixed };
  std::vector<pollfd> fds = {{stopping_ || now < accepts_from_ ? -1 : listener_.get(), POLLIN, 0},
                             {stopping_ ? -1 : stop_.get(), POLLIN, 0}};
  for (const Peer& stranger : strangers_) fds.push_back({stranger.socket.fd(), POLLIN, 0});
  const std::size_t first_peer = fds.size();
  for (const auto& peer : peers_) {
    const short events = peer && peer->socket.queued() > 0 ? POLLIN | POLLOUT : POLLIN;
    fds.push_back({peer ? peer->socket.fd() : -1, events, 0});
  }
  Time until = std::min(next_heartbeat_, hub_.deadline().value_or(next_heartbeat_));
  if (stopping_) until = std::min(until, stops_by_);
  const auto timeout = std::chrono::ceil<milliseconds>(until - now).count();
  if (poll(fds.data(), fds.size(), static_cast<int>(std::max<milliseconds::rep>(timeout, 0))) < 0) {
    if (errno != EINTR) std::this_thread::sleep_for(kBetweenPolls);
    eventfd_t stop = 0;
    if (errno != EINTR && eventfd_read(stop_.get(), &stop) == 0) BeginStop(Clock::now());
    return;
  }
  now = Clock::now();
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    if (fds[first_peer + rank].revents != 0) OnPeer(static_cast<int>(rank), now);
  }
  // Backwards, as introduced ones leave the list.
  for (std::size_t i = first_peer - kFixed; i-- > 0;) {
    if (fds[kFixed + i].revents != 0 && Introduce(strangers_[i], now)) {
      strangers_.erase(strangers_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  if (fds[kListener].revents != 0) Welcome();
  if (fds[kStop].revents != 0) BeginStop(now);
}

void HubServer::BeginStop(Time now) {
  stopping_ = true;
  stops_by_ = now + kLongestStop;
}

void HubServer::Welcome() {
  while (UniqueFd connection = supervision::Accept(listener_)) {
    if (strangers_.size() >= kMaxStrangers) strangers_.erase(strangers_.begin());
    strangers_.push_back({supervision::MessageSocket(std::move(connection)), Clock::now()});
  }
  // Otherwise the waiting connection would keep this thread busy.
  if (errno != EAGAIN) accepts_from_ = Clock::now() + supervision::kHeartbeatEvery;
}

bool HubServer::Introduce(Peer& stranger, Time now) {
  const std::vector<Message> messages = stranger.socket.Receive();
  if (messages.empty()) return !stranger.socket.open();
  const Message& hello = messages.front();
  if (hello.type != MessageType::kHello || !SameToken(hello.text, options_.token)) return true;
  if (hub_.over()) return true;
  const auto refuse = [&](const std::string& why) {
    stranger.socket.Send({.type = MessageType::kAbort, .text = why});
    return true;
  };
  if (hello.code != supervision::kVersion) {
    return refuse("rank " + std::to_string(hello.rank) +
                  " and rank 0 have different versions of "
                  "Weir: install one version on all hosts");
  }
  if (hello.rank < 0 || std::cmp_greater_equal(hello.rank, peers_.size())) {
    return refuse("this process is rank " + std::to_string(hello.rank) +
                  " by its launcher, and "
                  "rank 0 counts " +
                  std::to_string(peers_.size()) + " ranks");
  }
  auto& peer = peers_[static_cast<std::size_t>(hello.rank)];
  if (peer) {
    return refuse("two processes are rank " + std::to_string(hello.rank) + " by their launcher");
  }
  peer = std::make_unique<Peer>(Peer{std::move(stranger.socket), now});
  hub_.OnHello(hello.rank, hello.host);
  for (const Message& message : std::span(messages).subspan(1)) {
    hub_.OnMessage(hello.rank, message, now);
  }
  return true;
}

void HubServer::OnPeer(int rank, Time now) {
  auto& peer = peers_[static_cast<std::size_t>(rank)];
  peer->socket.Flush();
  for (const Message& message : peer->socket.Receive()) {
    peer->last_heard = now;
    hub_.OnMessage(rank, message, now);
  }
  if (peer->socket.open()) return;
  peer.reset();
  hub_.OnLost(rank, "its process has ended");
}

void HubServer::OnTime(Time now) {
  hub_.Tick(now);
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    if (!peers_[rank] || now <= peers_[rank]->last_heard + supervision::kSilence) continue;
    peers_[rank].reset();
    hub_.OnLost(static_cast<int>(rank), supervision::SilenceText("its process or host"));
  }
  if (now < next_heartbeat_) return;
  for (const auto& peer : peers_) {
    if (peer) peer->socket.Send({.type = MessageType::kHeartbeat});
  }
  std::erase_if(strangers_,
                [&](const Peer& peer) { return now > peer.last_heard + supervision::kSilence; });
  next_heartbeat_ = now + supervision::kHeartbeatEvery;
}

void HubServer::Send(int rank, const Message& message) {
  if (const auto& peer = peers_[static_cast<std::size_t>(rank)]) peer->socket.Send(message);
}

}  // namespace weir
