#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace weir {

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

/// Answers GET requests for a few paths, over TLS where it has a certificate, by GNU libmicrohttpd.
/// One thread ("weir-http") moves the bytes of all readers and never waits for one; eight make the
/// answers. So a reader that sends half a request, or does not read, costs only a little memory
/// until a time-out. There are at most 128 readers: the next one takes the place of the one that
/// has been idle longest. Thread-safe.
class HttpServer {
 public:
  /// Gets the part of the URL after '?'. Called from several threads at once.
  using Handler = std::function<HttpResponse(const std::string& query)>;

  struct Options {
    std::string address = "127.0.0.1";
    int port = 0;               ///< 0: any free one.
    std::string token{};        ///< Not empty: readers must send "Authorization: Bearer <token>".
    std::string certificate{};  ///< A PEM file; empty: no TLS. `key` is its key.
    std::string key{};
  };
  static constexpr std::size_t kMostReaders = 128;
  /// Most bytes of unread answers; beyond that the reader that has been idle longest is closed.
  static constexpr std::size_t kMostUnreadBytes = std::size_t{32} << 20;

  /// Serves until destroyed, which ends all connections. Throws InvalidArgument that names
  /// address and port when it cannot listen there, most often because another program does,
  /// and as HttpCertificate throws.
  HttpServer(const Options& options, std::map<std::string, Handler> handlers);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }

 private:
  class Loop;
  int port_ = 0;
  std::unique_ptr<Loop> loop_;
};

}  // namespace weir
