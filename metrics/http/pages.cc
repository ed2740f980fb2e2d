#include "metrics/http/pages.h"

#include <fmt/core.h>

#include <exception>
#include <string_view>
#include <utility>

#include "weir/error.h"

namespace weir {
namespace {

/// Compares in a time that does not tell how much of the token was right.
bool SameSecret(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size() && !b.empty(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i % b.size()]);
  }
  return difference == 0;
}

const char* Phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

}  // namespace

HttpPages::HttpPages(std::string token, std::map<std::string, HttpServer::Handler> handlers)
    : token_(std::move(token)), handlers_(std::move(handlers)) {}

std::variant<HttpPages::Question, HttpResponse> HttpPages::Look(const std::string& head) const {
  if (!HttpHeadLength(head)) {
    return HttpResponse{.status = 431, .body = "a request has a head of at most 8 KiB\n"};
  }
  const std::optional<HttpRequest> request = ParseHttpRequest(head);
  if (!request) return HttpResponse{.status = 400, .body = "this is no request of HTTP/1\n"};
  if (!token_.empty() && !SameSecret(request->authorization, "Bearer " + token_)) {
    return HttpResponse{.status = 401,
                        .body = "this endpoint wants the header \"Authorization: Bearer TOKEN\"\n"};
  }
  const auto handler = handlers_.find(request->path);
  if (handler == handlers_.end()) {
    std::string paths;
    for (const auto& [path, unused] : handlers_) paths += " " + path;
    return HttpResponse{.status = 404, .body = "there is only:" + paths + "\n"};
  }
  if (request->method != "GET") return HttpResponse{.status = 405, .body = "only GET\n"};
  return Question{.handler = &handler->second, .query = request->query};
}

HttpResponse HttpPages::Answer(const Question& question) {
  try {
    return (*question.handler)(question.query);
  } catch (const InvalidArgument& error) {
    return {.status = 400, .body = std::string(error.what()) + "\n"};
  } catch (const std::exception& error) {
    return {.status = 500, .body = std::string(error.what()) + "\n"};
  }
}

std::string HttpText(const HttpResponse& response) {
  std::string_view more;
  if (response.status == 401) more = "WWW-Authenticate: Bearer\r\n";
  if (response.status == 405) more = "Allow: GET\r\n";
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}"
      "Cache-Control: no-store\r\nConnection: close\r\n\r\n{}",
      response.status, Phrase(response.status), response.content_type, response.body.size(), more,
      response.body);
}

}  // namespace weir
