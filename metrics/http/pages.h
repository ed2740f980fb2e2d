#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "metrics/http/http_server.h"

namespace weir {

/// A server's pages, by path, and the readers allowed to see them. Thread-safe.
class HttpPages {
 public:
  HttpPages(std::string token, std::map<std::string, HttpServer::Handler> handlers);

  /// A request that needs work.
  struct Question {
    const HttpServer::Handler* handler;
    std::string query;
  };
  /// Decides about a request: returns the answer if it is known at once. `target`: path and query,
  /// not decoded; `authorization`: the header, or empty.
  std::variant<Question, HttpResponse> Look(std::string_view method, std::string_view target,
                                            std::string_view authorization) const;

  /// Calls the handler; turns its exception into a status.
  static HttpResponse Answer(const Question& question);

 private:
  const std::string token_;
  const std::map<std::string, HttpServer::Handler> handlers_;
};

}  // namespace weir
