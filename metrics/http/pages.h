#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>

#include "metrics/http/request.h"
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
  /// What follows from the head of a request, or from what was received instead of one: the answer
  /// where that is known at once.
  std::variant<Question, HttpResponse> Look(const std::string& head) const;

  /// Calls the handler; what it throws becomes a status.
  static HttpResponse Answer(const Question& question);

 private:
  const std::string token_;
  const std::map<std::string, HttpServer::Handler> handlers_;
};

/// As it goes over the network.
std::string HttpText(const HttpResponse& response);

}  // namespace weir
