#include "ops/hub/hub_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <span>
#include <utility>

#include "common/log.h"
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

}  // namespace

HubServer::HubServer(Options options)
    : options_(std::move(options)),
      listener_(supervision::Listen(options_.address, options_.port)),
      port_(supervision::PortOf(listener_)),
      stop_(CheckedFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "make an eventfd")),
      door_(supervision::Secret::OfHub(options_.token, port_), kMaxStrangers,
            [](const std::string& text) { LogWarning("rank 0 {}", text); }),
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
  door_.SumUp();
  for (const std::string& line : hub_.SummaryText()) std::fprintf(stderr, "weir: %s", line.c_str());
}

bool HubServer::Done(Time now) { return stopping_ && (hub_.idle() || now >= stops_by_); }

void HubServer::Wait(Time now) {
  enum : std::size_t { kListener, kStop, kFixed };
  std::vector<pollfd> fds = {{stopping_ || now < accepts_from_ ? -1 : listener_.get(), POLLIN, 0},
                             {stopping_ ? -1 : stop_.get(), POLLIN, 0}};
  door_.AddPolls(fds);
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
  const auto strangers = std::span(fds).subspan(kFixed, first_peer - kFixed);
  for (auto& guest : door_.Introduce(strangers, now)) Welcome(std::move(guest), now);
  if (fds[kListener].revents != 0) Accept(now);
  if (fds[kStop].revents != 0) BeginStop(now);
}

void HubServer::BeginStop(Time now) {
  stopping_ = true;
  stops_by_ = now + kLongestStop;
}

void HubServer::Accept(Time now) {
  const int error = door_.Accept(listener_, now);
  // Otherwise the waiting connection would keep this thread busy.
  if (error != 0 && error != EAGAIN) accepts_from_ = now + supervision::kHeartbeatEvery;
}

void HubServer::Welcome(supervision::Doorkeeper::Guest guest, Time now) {
  const Message& hello = guest.hello;
  if (hello.type != MessageType::kHello || hub_.over()) return;
  const auto refuse = [&](const std::string& why) {
    guest.socket.Send({.type = MessageType::kAbort, .text = why});
  };
  if (hello.rank < 0 || std::cmp_greater_equal(hello.rank, peers_.size())) {
    return refuse("this process is rank " + std::to_string(hello.rank) +
                  " by its launcher, and rank 0 counts " + std::to_string(peers_.size()) +
                  " ranks");
  }
  auto& peer = peers_[static_cast<std::size_t>(hello.rank)];
  if (peer) {
    return refuse("two processes are rank " + std::to_string(hello.rank) + " by their launcher");
  }
  peer = std::make_unique<Peer>(Peer{std::move(guest.socket), now});
  hub_.OnHello(hello.rank, hello.host);
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
  door_.Tick(now);
  next_heartbeat_ = now + supervision::kHeartbeatEvery;
}

void HubServer::Send(int rank, const Message& message) {
  if (const auto& peer = peers_[static_cast<std::size_t>(rank)]) peer->socket.Send(message);
}

}  // namespace weir
