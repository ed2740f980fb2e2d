#include "metrics/http/query.h"

#include <fmt/core.h>

#include "common/text/parse_number.h"
#include "weir/error.h"

namespace weir {

std::string_view QueryValue(std::string_view query, std::string_view key) {
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    if (pair.starts_with(key) && pair.substr(key.size()).starts_with('=')) {
      return pair.substr(key.size() + 1);
    }
    query = end == std::string_view::npos ? "" : query.substr(end + 1);
  }
  return {};
}

std::uint64_t QueryNumber(std::string_view query, std::string_view key, std::uint64_t otherwise,
                          std::uint64_t most) {
  const std::string_view text = QueryValue(query, key);
  if (text.empty()) return otherwise;
  const auto number = ParseNumber<std::uint64_t>(text);
  if (!number || *number > most) {
    throw InvalidArgument(
        fmt::format("'{}={}': {} is a number from 0 to {}", key, text, key, most));
  }
  return *number;
}

}  // namespace weir
