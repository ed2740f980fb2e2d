#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <string>

namespace weir {

/// The shortest text that reads back as the same number.
template <typename T>
requires std::integral<T> || std::floating_point<T> std::string ExactText(T value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

}  // namespace weir
