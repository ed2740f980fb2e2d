#pragma once

#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace weir {

/// A number of a JSON text that comes from elsewhere. What nlohmann's get() does with one that is
/// no whole number, or does not fit, is not defined: here it is an std::invalid_argument.
template <std::integral T>
T WholeNumber(const nlohmann::json& value) {
  if (value.is_number_unsigned() && std::in_range<T>(value.get<std::uint64_t>())) {
    return static_cast<T>(value.get<std::uint64_t>());
  }
  if (value.is_number_integer() && !value.is_number_unsigned() &&
      std::in_range<T>(value.get<std::int64_t>())) {
    return static_cast<T>(value.get<std::int64_t>());
  }
  throw std::invalid_argument("a whole number is meant, and not " + value.dump());
}

}  // namespace weir
