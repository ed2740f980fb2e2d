#include "metrics/http/daemon.h"

#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/clock.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr unsigned kHeadBytes = 16384;     // Per connection: its head, and the answer's.
constexpr std::size_t kRoomBytes = 32768;  // Part of an answer that is sent at a time.
constexpr unsigned kIdleSeconds = 10;      // Without a byte, in either direction.
constexpr int kLookMs = 500;               // Longest delay in noticing a late request.
constexpr unsigned kMostLeaving = 128;     // Beside kMostReaders, until the next Run.

std::vector<MHD_OptionItem> TlsOptions(const std::optional<HttpCertificate>& certificate) {
  const auto item = [](MHD_OPTION option, const std::string& text) {
    return MHD_OptionItem{option, 0, const_cast<char*>(text.c_str())};
  };
  static const std::string versions = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";
  std::vector<MHD_OptionItem> options;
  if (certificate) {
    options.push_back(item(MHD_OPTION_HTTPS_MEM_CERT, certificate->chain()));
    options.push_back(item(MHD_OPTION_HTTPS_MEM_KEY, certificate->key()));
    options.push_back(item(MHD_OPTION_HTTPS_PRIORITIES, versions));
  }
  options.push_back({MHD_OPTION_END, 0, nullptr});
  return options;
}

void AddHeaders(MHD_Response* response, const HttpResponse& said) {
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, said.content_type.c_str());
  MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
  if (said.status == MHD_HTTP_UNAUTHORIZED) {
    MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
  }
  if (said.status == MHD_HTTP_METHOD_NOT_ALLOWED) {
    MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, MHD_HTTP_METHOD_GET);
  }
}

}  // namespace

HttpDaemon::HttpDaemon(HttpPages pages, const std::optional<HttpCertificate>& certificate,
                       std::function<void()> wake)
    : pages_(std::move(pages)), wake_(std::move(wake)) {
  const unsigned flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME |
                         (certificate ? MHD_USE_TLS : MHD_NO_FLAG);
  std::vector<MHD_OptionItem> tls = TlsOptions(certificate);
  daemon_ = MHD_start_daemon(
      flags, 0, nullptr, nullptr, &OnRequest, this,  //
      MHD_OPTION_NOTIFY_CONNECTION, &OnConnection, this, MHD_OPTION_URI_LOG_CALLBACK, &OnTarget,
      this, MHD_OPTION_CONNECTION_LIMIT, unsigned{HttpServer::kMostReaders} + kMostLeaving,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, std::size_t{kHeadBytes}, MHD_OPTION_CONNECTION_TIMEOUT,
      kIdleSeconds, MHD_OPTION_ARRAY, tls.data(), MHD_OPTION_END);
  if (daemon_ == nullptr) {
    throw InvalidArgument("cannot serve metrics: the process is out of descriptors");
  }
  workers_.emplace();
}

HttpDaemon::~HttpDaemon() {
  workers_.reset();
  readers_.ResumeAll();
  MHD_stop_daemon(daemon_);
}

int HttpDaemon::fd() const {
  return MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

int HttpDaemon::TimeoutMs() const {
  if (readers_.empty()) return -1;
  MHD_UNSIGNED_LONG_LONG due = kLookMs;
  if (MHD_get_timeout(daemon_, &due) == MHD_NO) return kLookMs;
  return static_cast<int>(std::min<MHD_UNSIGNED_LONG_LONG>(due, kLookMs));
}

void HttpDaemon::Run() {
  readers_.GiveUpLate(NowNs());
  MHD_run(daemon_);
}

bool HttpDaemon::Accept(const UniqueFd& listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* const its = reinterpret_cast<sockaddr*>(&address);
  const int fd = accept4(listener.get(), its, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
  // The daemon owns it now, and closes it if it cannot use it.
  if (fd >= 0) MHD_add_connection(daemon_, fd, its, size);
  return fd >= 0;
}

HttpReader& HttpDaemon::ReaderOf(MHD_Connection* connection) {
  return *static_cast<HttpReader*>(
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context);
}

void HttpDaemon::OnConnection(void* self, MHD_Connection* connection, void** reader,
                              MHD_ConnectionNotificationCode what) {
  HttpReaders& readers = static_cast<HttpDaemon*>(self)->readers_;
  if (what == MHD_CONNECTION_NOTIFY_STARTED) {
    *reader = readers.Add(connection, NowNs());
  } else {
    readers.Remove(static_cast<HttpReader*>(*reader));
  }
}

/// Saves the raw target, because OnRequest gets it decoded and cut into pieces.
void* HttpDaemon::OnTarget(void* /*self*/, const char* target, MHD_Connection* connection) {
  ReaderOf(connection).target = target;
  return nullptr;
}

/// Called when the head has arrived, and once more when the connection has been resumed.
MHD_Result HttpDaemon::OnRequest(void* self, MHD_Connection* connection, const char* /*path*/,
                                 const char* method, const char* /*version*/, const char* /*body*/,
                                 std::size_t* /*body_bytes*/, void** /*unused*/) {
  auto& daemon = *static_cast<HttpDaemon*>(self);
  HttpReader& reader = ReaderOf(connection);
  switch (reader.state) {
    case HttpReader::State::kAsking:
      return daemon.Look(reader, method);
    case HttpReader::State::kAnswering:
      return daemon.Send(reader);
    case HttpReader::State::kTaking:
    case HttpReader::State::kLeaving:
      return MHD_NO;
  }
  return MHD_NO;
}

MHD_Result HttpDaemon::Look(HttpReader& reader, const char* method) {
  const char* const authorization = MHD_lookup_connection_value(reader.connection, MHD_HEADER_KIND,
                                                                MHD_HTTP_HEADER_AUTHORIZATION);
  auto next = pages_.Look(method, reader.target, authorization == nullptr ? "" : authorization);
  if (auto* const response = std::get_if<HttpResponse>(&next)) {
    reader.response = std::move(*response);
    return Send(reader);
  }
  // Only the worker touches it until it is resumed: a suspended connection is not closed.
  reader.state = HttpReader::State::kAnswering;
  MHD_suspend_connection(reader.connection);
  workers_->Push([this, &reader, question = std::get<HttpPages::Question>(std::move(next))] {
    reader.response = HttpPages::Answer(question);
    MHD_resume_connection(reader.connection);
    wake_();
  });
  return MHD_YES;
}

MHD_Result HttpDaemon::Send(HttpReader& reader) {
  MHD_Response* const response = MHD_create_response_from_callback(
      reader.response.body.size(), kRoomBytes, &OnRoom, &reader, nullptr);
  if (response == nullptr) return MHD_NO;
  AddHeaders(response, reader.response);
  reader.state = HttpReader::State::kTaking;
  reader.progress_ns = NowNs();
  readers_.BoundUnread(&reader);
  const MHD_Result result = MHD_queue_response(
      reader.connection, static_cast<unsigned>(reader.response.status), response);
  MHD_destroy_response(response);
  return result;
}

/// Everything before `position` has been sent.
ssize_t HttpDaemon::OnRoom(void* its, std::uint64_t position, char* room, std::size_t bytes) {
  HttpReader& reader = *static_cast<HttpReader*>(its);
  reader.taken_bytes = position;
  reader.progress_ns = NowNs();
  return static_cast<ssize_t>(reader.response.body.copy(room, bytes, position));
}

}  // namespace weir
