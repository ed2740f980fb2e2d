#include "metrics/query.h"

#include <fmt/core.h>

#include <charconv>

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
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > most) {
    throw InvalidArgument(
        fmt::format("'{}={}': {} is a number from 0 to {}", key, text, key, most));
  }
  return number;
}

}  // namespace weir
