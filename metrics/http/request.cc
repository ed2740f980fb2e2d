#include "metrics/http/request.h"

#include <algorithm>
#include <cctype>

namespace weir {
namespace {

constexpr std::string_view kEnd = "\r\n\r\n";
constexpr std::string_view kBareEnd = "\n\n";  // Of who types by hand.

/// Cuts the first line off, without its end.
std::string_view TakeLine(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view TakeWord(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

bool IsAuthorization(std::string_view name) {
  constexpr std::string_view kName = "authorization";
  return std::ranges::equal(name, kName, {}, [](unsigned char c) { return std::tolower(c); });
}

std::string_view Trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(begin);
  const std::size_t last = text.find_last_not_of(" \t");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

}  // namespace

std::optional<std::size_t> HttpHeadLength(std::string_view received) {
  const std::size_t end = received.find(kEnd);
  const std::size_t bare = received.find(kBareEnd);
  if (end == bare) return std::nullopt;  // Neither is there.
  return end < bare ? end + kEnd.size() : bare + kBareEnd.size();
}

std::optional<HttpRequest> ParseHttpRequest(std::string_view head) {
  std::string_view line = TakeLine(head);
  HttpRequest request;
  request.method = TakeWord(line);
  std::string_view target = TakeWord(line);
  if (request.method.empty() || !target.starts_with('/') || !line.starts_with("HTTP/1.")) {
    return std::nullopt;
  }
  const std::size_t question = std::min(target.find('?'), target.size());
  request.path = target.substr(0, question);
  target.remove_prefix(question);
  if (!target.empty()) request.query = target.substr(1);
  while (!head.empty()) {
    const std::string_view header = TakeLine(head);
    const std::size_t colon = header.find(':');
    if (colon == std::string_view::npos || !IsAuthorization(header.substr(0, colon))) continue;
    request.authorization = Trimmed(header.substr(colon + 1));
  }
  return request;
}

}  // namespace weir
