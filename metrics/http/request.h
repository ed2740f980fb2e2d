#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir {

/// What is asked for: the head of a request, as far as it matters here.
struct HttpRequest {
  std::string method;
  std::string path;   ///< "/metrics"
  std::string query;  ///< What follows '?'; not decoded.
  std::string authorization;
};

/// The length of the head that `received` begins with, its empty line included; none as long as
/// that has not come.
std::optional<std::size_t> HttpHeadLength(std::string_view received);

/// Reads a head of HTTP/1.0 or 1.1. None for what is no request.
std::optional<HttpRequest> ParseHttpRequest(std::string_view head);

}  // namespace weir
