#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "metrics/http_server.h"

namespace weir {

/// What a server has to say, by path, and to whom. Thread-safe.
class HttpPages {
 public:
  HttpPages(std::string token, std::map<std::string, HttpServer::Handler> handlers);

  /// A request that somebody has to work for.
  struct Question {
    const HttpServer::Handler* handler;
    std::string query;
  };
  /// What follows from a request: the answer where that is known at once. `target`: path and query,
  /// not decoded; `authorization`: the header, or empty.
  std::variant<Question, HttpResponse> Look(std::string_view method, std::string_view target,
                                            std::string_view authorization) const;

  /// Calls the handler; what it throws becomes a status.
  static HttpResponse Answer(const Question& question);

 private:
  const std::string token_;
  const std::map<std::string, HttpServer::Handler> handlers_;
};

}  // namespace weir
