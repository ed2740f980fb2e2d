#include "metrics/http/pages.h"

#include <algorithm>
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

}  // namespace

HttpPages::HttpPages(std::string token, std::map<std::string, HttpServer::Handler> handlers)
    : token_(std::move(token)), handlers_(std::move(handlers)) {}

std::variant<HttpPages::Question, HttpResponse> HttpPages::Look(
    std::string_view method, std::string_view target, std::string_view authorization) const {
  if (!target.starts_with('/')) {
    return HttpResponse{.status = 400, .body = "a request names a path that begins with '/'\n"};
  }
  if (!token_.empty() && !SameSecret(authorization, "Bearer " + token_)) {
    return HttpResponse{.status = 401,
                        .body = "this endpoint needs the header \"Authorization: Bearer TOKEN\"\n"};
  }
  const std::size_t question = std::min(target.find('?'), target.size());
  const auto handler = handlers_.find(std::string(target.substr(0, question)));
  if (handler == handlers_.end()) {
    std::string paths;
    for (const auto& [path, unused] : handlers_) paths += " " + path;
    return HttpResponse{.status = 404, .body = "there is only:" + paths + "\n"};
  }
  if (method != "GET") return HttpResponse{.status = 405, .body = "only GET\n"};
  target.remove_prefix(std::min(question + 1, target.size()));
  return Question{.handler = &handler->second, .query = std::string(target)};
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

}  // namespace weir
