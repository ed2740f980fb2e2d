#include "ops/hub/hub_link.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/supervision/heartbeat.h"
#include "common/supervision/introduction.h"
#include "common/supervision/message_socket.h"
#include "common/supervision/tcp.h"
#include "common/threads/thread_name.h"
#include "ops/membership/abort_text.h"
#include "ops/membership/supervisor_socket.h"
#include "weir/error.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using supervision::Introduction;
using supervision::Message;
using supervision::MessageSocket;
using supervision::MessageType;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kOneAttempt{5000};
constexpr milliseconds kBetweenAttempts{100};
constexpr milliseconds kLastWords{1000};
constexpr char kAdvice[] =
    " (WEIR_TOKEN, WEIR_TOKEN_FILE give the token, WEIR_RENDEZVOUS another port)";

/// The thread's work.
class Relay {
 public:
  Relay(HubLink::Options options, UniqueFd engine)
      : options_(std::move(options)), engine_(std::move(engine)) {}

  void Run() {
    std::optional<MessageSocket> hub = Reach();
    if (!hub) return AwaitTheEnd();
    Carry(*hub);
    const auto until = Clock::now() + kLastWords;
    for (hub->Flush(); hub->open() && hub->queued() > 0 && Clock::now() < until; hub->Flush()) {
      pollfd wait{hub->fd(), POLLOUT, 0};
      poll(&wait, 1, 10);
    }
  }

 private:
  /// Returns a connection that the hub has welcomed, or nothing: the engine has been told why, or
  /// has gone.
  std::optional<MessageSocket> Reach() {
    const auto deadline = Clock::now() + options_.timeout;
    std::string why;
    bool refused = false;   // Says more than that nobody listens any more.
    bool answered = false;  // Says more than to be cut off: rank 0 may have given up first.
    do {
      try {
        UniqueFd connection =
            supervision::Connect(supervision::Resolve(options_.host, options_.port), kOneAttempt);
        Introduction hub = supervision::Introduce(
            std::move(connection),
            {.type = MessageType::kHello, .rank = options_.rank, .host = options_.own_host},
            supervision::Secret::OfHub(options_.token, options_.port), kOneAttempt);
        const Message answer = hub.socket ? Answer(hub) : Message{};
        if (answer.type == MessageType::kWelcome) return std::move(hub.socket);
        if (answer.type == MessageType::kAbort) {
          Tell(answer);
          return {};
        }
        if (hub.answered || !answered) {
          why = hub.socket ? "rank 0 has not left an earlier job yet" : hub.why + kAdvice;
        }
        refused = true;
        answered |= hub.answered;
      } catch (const InvalidArgument& error) {
        if (!refused) why = error.what();
      }
      if (EngineHasGone(kBetweenAttempts)) return {};
    } while (Clock::now() < deadline);
    const TimedOut error("rank 0 was not reached at " + options_.host + ":" +
                             std::to_string(options_.port) + " within " +
                             std::to_string(options_.timeout.count() / 1000) + " s: " + why,
                         {.tensor = {}, .ranks = {0}, .phase = "start"});
    Tell({.type = MessageType::kAbort, .text = AbortText(std::make_exception_ptr(error))});
    return {};
  }

  /// Returns what the hub, which has proven to be one, says first; a heartbeat for nothing.
  Message Answer(Introduction& hub) const {
    if (hub.version != supervision::kVersion) {
      return {.type = MessageType::kAbort,
              .text = "rank " + std::to_string(options_.rank) +
                      " and rank 0 have different versions of Weir: install one version on all "
                      "hosts"};
    }
    const auto deadline = Clock::now() + kOneAttempt;
    while (Clock::now() < deadline) {
      const std::vector<Message> messages = hub.socket->Receive();
      if (!messages.empty()) return messages.front();
      if (!hub.socket->open()) break;
      pollfd wait{hub.socket->fd(), POLLIN, 0};
      poll(&wait, 1, 100);
    }
    return {};
  }

  /// Closing before the engine does would take back what it has been told and has not read.
  void AwaitTheEnd() const {
    while (!EngineHasGone(milliseconds(-1))) {
    }
  }

  bool EngineHasGone(milliseconds within) const {
    // Its messages stay where they are until there is somebody to carry them to.
    pollfd wait{engine_.get(), POLLRDHUP, 0};
    return poll(&wait, 1, static_cast<int>(within.count())) > 0;
  }

  /// Until the engine closes its end.
  void Carry(MessageSocket& hub) {
    auto next_heartbeat = Clock::now();
    auto last_heard = Clock::now();
    bool lost = false;
    while (true) {
      const short events = hub.queued() > 0 ? POLLIN | POLLOUT : POLLIN;
      std::array<pollfd, 2> fds = {{{lost ? -1 : hub.fd(), events, 0}, {engine_.get(), POLLIN, 0}}};
      const auto left = std::chrono::ceil<milliseconds>(next_heartbeat - Clock::now()).count();
      poll(fds.data(), fds.size(),
           lost ? -1 : static_cast<int>(std::max<milliseconds::rep>(left, 0)));
      const auto now = Clock::now();
      if (fds[0].revents != 0) {
        hub.Flush();
        for (const Message& message : hub.Receive()) {
          last_heard = now;
          if (message.type != MessageType::kHeartbeat) Tell(message);
        }
      }
      if (fds[1].revents != 0 && !TakeFromEngine(hub)) return;
      if (lost) continue;
      if (now >= next_heartbeat) {
        hub.Send({.type = MessageType::kHeartbeat});
        next_heartbeat = now + supervision::kHeartbeatEvery;
      }
      if (hub.open() && now <= last_heard + supervision::kSilence) continue;
      lost = true;
      if (left_) continue;
      Tell({.type = MessageType::kPeerLost,
            .rank = 0,
            .text = hub.open() ? supervision::SilenceText("its process or host")
                               : "its process has ended"});
    }
  }

  bool TakeFromEngine(MessageSocket& hub) {
    std::string packet(supervision::kMaxFrame, '\0');
    const ssize_t n = recv(engine_.get(), packet.data(), packet.size(), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (n <= 0) return false;
    const Message message = supervision::Decode({packet.data(), static_cast<std::size_t>(n)});
    if (message.type == MessageType::kPulse) return true;  // This process pulses to the hub itself.
    left_ = message.type == MessageType::kLeave;
    hub.Send(message);
    return true;
  }

  void Tell(const Message& message) { SendToSupervisor(engine_, message); }

  const HubLink::Options options_;
  const UniqueFd engine_;
  bool left_ = false;  ///< The engine has nothing to do with the others any more.
};

}  // namespace

HubLink::HubLink(Options options, UniqueFd engine)
    : thread_([relay = std::make_shared<Relay>(std::move(options), std::move(engine))] {
        NameThread("weir-hub-link");
        relay->Run();
      }) {}

}  // namespace weir
