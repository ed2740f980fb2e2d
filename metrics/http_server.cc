#include "metrics/http_server.h"

#include <arpa/inet.h>
#include <civetweb.h>
#include <fmt/core.h>

#include <array>
#include <chrono>
#include <exception>
#include <future>
#include <string_view>
#include <thread>

#include "common/log.h"
#include "weir/error.h"

namespace weir {
namespace {

/// civetweb takes the numbers of 999.1.1.1 modulo 256.
void CheckAddress(const std::string& address) {
  in_addr parsed{};
  const bool numeric = address.find_first_not_of("0123456789.") == std::string::npos;
  if (numeric && inet_pton(AF_INET, address.c_str(), &parsed) != 1) {
    throw InvalidArgument("cannot listen on '" + address +
                          "', which is no address; give one of this host, or 0.0.0.0 for all "
                          "(WEIR_METRICS_ADDRESS)");
  }
}

/// Compares in a time that does not tell how much of the token was right.
bool SameSecret(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size() && !b.empty(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i % b.size()]);
  }
  return difference == 0;
}

std::string_view OrEmpty(const char* text) { return text == nullptr ? "" : text; }

void Send(mg_connection* connection, const HttpResponse& response) {
  const std::string_view authenticate =
      response.status == 401 ? "WWW-Authenticate: Bearer\r\n" : "";
  const std::string text = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}"
      "Cache-Control: no-store\r\nConnection: close\r\n\r\n{}",
      response.status, mg_get_response_code_text(connection, response.status),
      response.content_type, response.body.size(), authenticate, response.body);
  mg_write(connection, text.data(), text.size());
}

}  // namespace

/// What civetweb calls; the context's user data is the server.
struct HttpServer::Callbacks {
  static HttpServer* ServerOf(const mg_connection* connection) {
    return static_cast<HttpServer*>(mg_get_user_data(mg_get_context(connection)));
  }

  static int BeginRequest(mg_connection* connection) {
    const HttpResponse response = ServerOf(connection)->Answer(connection);
    Send(connection, response);
    return response.status;
  }

  static int LogMessage(const mg_connection* connection, const char* message) {
    LogDebug("civetweb: {}", message);
    // What goes wrong while starting is told from the constructor's own thread.
    HttpServer* const server = ServerOf(connection);
    if (server != nullptr && server->starter_ == std::this_thread::get_id()) {
      server->start_error_ += (server->start_error_.empty() ? "" : "; ") + std::string(message);
    }
    return 1;
  }
};

HttpServer::HttpServer(const Options& options, std::map<std::string, Handler> handlers)
    : address_(options.address),
      token_(options.token),
      handlers_(std::move(handlers)),
      context_(nullptr, mg_stop) {
  CheckAddress(options.address);
  const std::string where = fmt::format("{}:{}", options.address, options.port);
  const std::array settings = {"listening_ports",
                               where.c_str(),
                               "num_threads",
                               "8",  // Twice those that may wait for news (LongPoll).
                               "request_timeout_ms",
                               "10000",
                               static_cast<const char*>(nullptr)};
  mg_callbacks callbacks{};
  callbacks.begin_request = Callbacks::BeginRequest;
  callbacks.log_message = Callbacks::LogMessage;
  auto settings_copy = settings;
  context_.reset(mg_start(&callbacks, this, settings_copy.data()));
  if (context_ == nullptr) {
    throw InvalidArgument(fmt::format(
        "cannot listen on {}{}{}; another program may use port {}, or {} is not an address of this "
        "host",
        where, start_error_.empty() ? "" : ": ", start_error_, options.port, options.address));
  }
  mg_server_port port{};
  mg_get_server_ports(context_.get(), 1, &port);
  port_ = port.port;
}

HttpServer::~HttpServer() {
  // civetweb looks for the end of its life every two seconds, and whenever somebody connects. A
  // connection that comes too early changes nothing, hence the repetition.
  auto stopped = std::async(std::launch::async, [this] { context_.reset(); });
  while (stopped.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready) {
    std::array<char, 128> error{};
    mg_connection* const wake =
        mg_connect_client(address_.c_str(), port_, 0, error.data(), error.size());
    if (wake == nullptr) break;
    mg_close_connection(wake);
  }
}

HttpResponse HttpServer::Answer(const mg_connection* connection) const {
  const mg_request_info& request = *mg_get_request_info(connection);
  if (!token_.empty() &&
      !SameSecret(OrEmpty(mg_get_header(connection, "Authorization")), "Bearer " + token_)) {
    return {.status = 401,
            .body = "this endpoint wants the header \"Authorization: Bearer TOKEN\"\n"};
  }
  const auto handler = handlers_.find(std::string(OrEmpty(request.local_uri)));
  if (handler == handlers_.end()) {
    std::string paths;
    for (const auto& [path, unused] : handlers_) paths += " " + path;
    return {.status = 404, .body = "there is only:" + paths + "\n"};
  }
  if (OrEmpty(request.request_method) != "GET") return {.status = 405, .body = "only GET\n"};
  try {
    return handler->second(std::string(OrEmpty(request.query_string)));
  } catch (const InvalidArgument& error) {
    return {.status = 400, .body = std::string(error.what()) + "\n"};
  } catch (const std::exception& error) {
    return {.status = 500, .body = std::string(error.what()) + "\n"};
  }
}

}  // namespace weir
