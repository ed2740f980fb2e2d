#include "metrics/http_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "common/clock.h"
#include "common/thread_name.h"
#include "metrics/http/connection.h"
#include "metrics/http/listener.h"
#include "metrics/http/pages.h"
#include "metrics/http/tls.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr int kWorkers = 8;          // Twice those that may wait for news (LongPoll).
constexpr int kAcceptedAtOnce = 64;  // Whoever connects without end holds up no reader.
constexpr std::int64_t kPauseNs = 100'000'000;

}  // namespace

class HttpServer::Loop {
 public:
  Loop(const Options& options, std::map<std::string, Handler> handlers, UniqueFd listener)
      : pages_(options.token, std::move(handlers)),
        listener_(std::move(listener)),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!wake_) throw InvalidArgument("cannot serve metrics: the process is out of descriptors");
    if (!options.certificate.empty()) tls_.emplace(options.certificate, options.key);
    for (int i = 0; i < kWorkers; ++i) {
      workers_.emplace_back([this](const std::stop_token& stop) { Work(stop); });
    }
    thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  }
  ~Loop() {
    thread_.request_stop();
    eventfd_write(wake_.get(), 1);
  }

 private:
  struct Reader {
    Reader(std::uint64_t its, std::unique_ptr<HttpStream> stream, std::int64_t now_ns)
        : number(its), connection(std::move(stream), HttpConnection::Patience{}, now_ns) {}
    std::uint64_t number;
    HttpConnection connection;
  };
  struct Question {
    std::uint64_t reader;
    HttpPages::Question what;
  };
  struct Answer {
    std::uint64_t reader;
    std::string text;
  };

  void Run(const std::stop_token& stop);
  void Wait();
  void DropClosed();
  void Accept(std::int64_t now_ns);
  void OnReady(Reader& reader, std::int64_t now_ns);
  void Deliver(std::int64_t now_ns);
  bool GiveUpIdlest(const Reader* but = nullptr);
  void Reply(Reader& reader, std::string text, std::int64_t now_ns);
  void Work(const std::stop_token& stop);

  const HttpPages pages_;
  const UniqueFd listener_;
  const UniqueFd wake_;
  std::optional<Tls> tls_;

  // Of thread_.
  std::list<Reader> readers_;
  std::uint64_t next_number_ = 0;
  std::int64_t accepts_from_ns_ = 0;  ///< While the process is out of descriptors: later.

  std::mutex mutex_;  // Guards what follows.
  std::condition_variable_any asked_;
  std::deque<Question> questions_;
  std::vector<Answer> answers_;

  std::vector<std::jthread> workers_;
  std::jthread thread_;  ///< Last: ends first.
};

void HttpServer::Loop::Run(const std::stop_token& stop) {
  NameThread("weir-http");
  // OpenSSL writes without asking for no SIGPIPE; and the program's signals are none of this.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  while (!stop.stop_requested()) {
    Wait();
    const std::int64_t now_ns = NowNs();
    Deliver(now_ns);
    for (Reader& reader : readers_) reader.connection.OnTime(now_ns);
    DropClosed();
    Accept(now_ns);
  }
}

void HttpServer::Loop::DropClosed() {
  std::erase_if(readers_, [](const Reader& reader) {
    return reader.connection.state() == HttpConnection::State::kClosed;
  });
}

void HttpServer::Loop::Wait() {
  const std::int64_t before_ns = NowNs();
  std::int64_t until_ns = before_ns + 60'000'000'000;
  const bool accepts = accepts_from_ns_ <= before_ns;
  if (!accepts) until_ns = std::min(until_ns, accepts_from_ns_);
  std::vector<pollfd> fds = {{wake_.get(), POLLIN, 0}, {accepts ? listener_.get() : -1, POLLIN, 0}};
  for (const Reader& reader : readers_) {
    const short events = reader.connection.events();
    // With no event asked for, poll would still report a hang-up, over and over.
    fds.push_back({events == 0 ? -1 : reader.connection.fd(), events, 0});
    until_ns = std::min(until_ns, reader.connection.deadline_ns());
  }
  const std::int64_t milliseconds =
      std::clamp<std::int64_t>((until_ns - before_ns + 999'999) / 1'000'000, 0, 60'000);
  if (poll(fds.data(), fds.size(), static_cast<int>(milliseconds)) <= 0) return;
  const std::int64_t now_ns = NowNs();
  auto ready = fds.begin() + 2;
  for (Reader& reader : readers_) {
    if ((ready++)->revents != 0) OnReady(reader, now_ns);
  }
}

void HttpServer::Loop::OnReady(Reader& reader, std::int64_t now_ns) {
  const std::optional<std::string> head = reader.connection.OnReady(now_ns);
  if (!head) return;
  auto next = pages_.Look(*head);
  if (const auto* response = std::get_if<HttpResponse>(&next)) {
    return Reply(reader, HttpText(*response), now_ns);
  }
  const std::lock_guard lock(mutex_);
  questions_.push_back({reader.number, std::get<HttpPages::Question>(std::move(next))});
  asked_.notify_one();
}

void HttpServer::Loop::Work(const std::stop_token& stop) {
  NameThread("weir-http-work");
  std::unique_lock lock(mutex_);
  while (asked_.wait(lock, stop, [this] { return !questions_.empty(); })) {
    if (stop.stop_requested()) return;
    const Question question = std::move(questions_.front());
    questions_.pop_front();
    lock.unlock();
    std::string text = HttpText(HttpPages::Answer(question.what));
    lock.lock();
    answers_.push_back({question.reader, std::move(text)});
    eventfd_write(wake_.get(), 1);
  }
}

void HttpServer::Loop::Deliver(std::int64_t now_ns) {
  eventfd_t ignored = 0;
  eventfd_read(wake_.get(), &ignored);
  std::vector<Answer> answers;
  {
    const std::lock_guard lock(mutex_);
    answers.swap(answers_);
  }
  for (Answer& answer : answers) {
    const auto reader = std::ranges::find(readers_, answer.reader, &Reader::number);
    if (reader != readers_.end()) Reply(*reader, std::move(answer.text), now_ns);
  }
}

void HttpServer::Loop::Reply(Reader& reader, std::string text, std::int64_t now_ns) {
  reader.connection.Answer(std::move(text), now_ns);
  const auto unread = [this] {
    std::size_t bytes = 0;
    for (const Reader& one : readers_) bytes += one.connection.waiting_bytes();
    return bytes;
  };
  while (unread() > kMostUnreadBytes && GiveUpIdlest(&reader)) {
  }
}

void HttpServer::Loop::Accept(std::int64_t now_ns) {
  if (now_ns < accepts_from_ns_) return;
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      const bool exhausted =
          errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (exhausted && !GiveUpIdlest()) accepts_from_ns_ = now_ns + kPauseNs;
      return DropClosed();
    }
    if (readers_.size() >= kMostReaders && !GiveUpIdlest()) continue;
    DropClosed();
    auto stream = tls_ ? tls_->MakeStream(std::move(socket)) : MakePlainStream(std::move(socket));
    if (stream == nullptr) continue;
    readers_.emplace_back(next_number_++, std::move(stream), now_ns);
  }
}

/// Closes the connection that has been idle for longest: of those that were not asked for anything
/// yet or were answered, if there are any. False when all others are being worked for.
bool HttpServer::Loop::GiveUpIdlest(const Reader* but) {
  const auto rank = [](const Reader& reader) {
    const bool takes = reader.connection.state() == HttpConnection::State::kWriting;
    return std::pair(takes, reader.connection.progress_ns());
  };
  auto idlest = readers_.end();
  for (auto one = readers_.begin(); one != readers_.end(); ++one) {
    const HttpConnection::State state = one->connection.state();
    const bool keeps = state == HttpConnection::State::kAnswering ||
                       state == HttpConnection::State::kClosed || &*one == but;
    if (keeps) continue;
    if (idlest == readers_.end() || rank(*one) < rank(*idlest)) idlest = one;
  }
  if (idlest == readers_.end()) return false;
  idlest->connection.Close();
  return true;
}

HttpServer::HttpServer(const Options& options, std::map<std::string, Handler> handlers) {
  UniqueFd listener = HttpListener(options.address, options.port);
  port_ = BoundPort(listener);
  loop_ = std::make_unique<Loop>(options, std::move(handlers), std::move(listener));
}

HttpServer::~HttpServer() = default;

}  // namespace weir
