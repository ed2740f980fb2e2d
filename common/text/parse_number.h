#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace weir {

/// Reads the number that `text`, all of it, writes in the C locale. Returns nothing for any other
/// text, spaces and a leading "+" included, and for a number that T cannot hold.
template <typename T>
std::optional<T> ParseNumber(std::string_view text) {
  T value{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace weir
