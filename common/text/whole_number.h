#pragma once

#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace weir {

/// Reads a number of a JSON text from elsewhere. nlohmann's get() is undefined for a number that is
/// not whole or does not fit; this throws std::invalid_argument instead.
template <std::integral T>
T WholeNumber(const nlohmann::json& value) {
  if (value.is_number_unsigned() && std::in_range<T>(value.get<std::uint64_t>())) {
    return static_cast<T>(value.get<std::uint64_t>());
  }
  if (value.is_number_integer() && !value.is_number_unsigned() &&
      std::in_range<T>(value.get<std::int64_t>())) {
    return static_cast<T>(value.get<std::int64_t>());
  }
  throw std::invalid_argument("expected a whole number, not " + value.dump());
}

}  // namespace weir
