#include "metrics/http/http_server.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <thread>
#include <utility>

#include "common/threads/thread_name.h"
#include "common/unique_fd.h"
#include "metrics/http/certificate.h"
#include "metrics/http/daemon.h"
#include "metrics/http/listener.h"
#include "metrics/http/pages.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr int kAcceptedAtOnce = 64;  // A client that connects without end must not hold up readers.
constexpr int kPauseMs = 100;

std::optional<HttpCertificate> CertificateOf(const HttpServer::Options& options) {
  if (options.certificate.empty()) return std::nullopt;
  return HttpCertificate(options.certificate, options.key);
}

}  // namespace

/// Accepts, waits, and runs the daemon. libmicrohttpd could do the first two. But
/// without a free connection or descriptor it accepts none until one ends by itself;
/// here the idlest one makes room.
class HttpServer::Loop {
 public:
  Loop(const Options& options, std::map<std::string, Handler> handlers, UniqueFd listener)
      : listener_(std::move(listener)),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        daemon_(HttpPages(options.token, std::move(handlers)), CertificateOf(options),
                [this] { eventfd_write(wake_.get(), 1); }) {
    if (!wake_) throw InvalidArgument("cannot serve metrics: the process is out of descriptors");
    thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  }
  ~Loop() {
    thread_.request_stop();
    eventfd_write(wake_.get(), 1);
  }

 private:
  void Run(const std::stop_token& stop);
  void Wait();
  void Accept();

  const UniqueFd listener_;
  const UniqueFd wake_;
  HttpDaemon daemon_;
  bool pauses_ = false;  ///< Out of descriptors: accept nobody for a moment.
  std::jthread thread_;  ///< Last: ends first.
};

void HttpServer::Loop::Run(const std::stop_token& stop) {
  NameThread("weir-http");
  // Signals are for the program's own threads.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  while (!stop.stop_requested()) {
    Wait();
    daemon_.Run();
    Accept();
  }
}

void HttpServer::Loop::Wait() {
  int timeout_ms = daemon_.TimeoutMs();
  if (pauses_ && (timeout_ms < 0 || timeout_ms > kPauseMs)) timeout_ms = kPauseMs;
  std::array<pollfd, 3> fds{{{wake_.get(), POLLIN, 0},
                             {daemon_.fd(), POLLIN, 0},
                             {pauses_ ? -1 : listener_.get(), POLLIN, 0}}};
  poll(fds.data(), fds.size(), timeout_ms);
  eventfd_t ignored = 0;
  eventfd_read(wake_.get(), &ignored);
}

void HttpServer::Loop::Accept() {
  pauses_ = false;
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    if (daemon_.Accept(listener_)) continue;
    const bool exhausted =
        errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    pauses_ = exhausted && !daemon_.GiveUpIdlest();
    return;
  }
}

HttpServer::HttpServer(const Options& options, std::map<std::string, Handler> handlers) {
  UniqueFd listener = HttpListener(options.address, options.port);
  port_ = BoundPort(listener);
  loop_ = std::make_unique<Loop>(options, std::move(handlers), std::move(listener));
}

HttpServer::~HttpServer() = default;

}  // namespace weir
