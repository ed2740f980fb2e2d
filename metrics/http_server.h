#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

struct mg_context;
struct mg_connection;

namespace weir {

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

/// Answers GET requests for a few paths from threads of its own (civetweb). A reader that stops
/// reading holds up one of these threads until a time-out, and never the program.
class HttpServer {
 public:
  /// Gets the part of the URL after '?'. Called from several threads at once.
  using Handler = std::function<HttpResponse(const std::string& query)>;

  struct Options {
    std::string address = "127.0.0.1";
    int port = 0;       ///< 0: any free one.
    std::string token;  ///< Not empty: readers must send "Authorization: Bearer <token>".
  };

  /// Serves until destroyed. Throws InvalidArgument that names address and port when it cannot
  /// listen there, above all when another program does.
  HttpServer(const Options& options, std::map<std::string, Handler> handlers);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }

 private:
  struct Callbacks;
  HttpResponse Answer(const mg_connection* connection) const;

  const std::string address_;
  const std::string token_;
  const std::map<std::string, Handler> handlers_;
  const std::thread::id starter_ = std::this_thread::get_id();
  std::string start_error_;
  std::unique_ptr<mg_context, void (*)(mg_context*)> context_;
  int port_ = 0;
};

}  // namespace weir
