#pragma once

#include <optional>
#include <string>

#include "common/text/parse_number.h"
#include "weir/error.h"

namespace weir::launcher {

/// More ranks would only overload the hosts, before an error could be reported.
inline constexpr int kMostRanks = 16384;

/// Reads an option's number. Throws InvalidArgument for everything that is none of the range, "nan"
/// too; `allowed` says what may be given.
template <typename T>
T OptionNumber(const std::string& option, const std::string& text, T min, T max,
               const char* allowed) {
  const std::optional<T> value = ParseNumber<T>(text);
  if (!value || !(*value >= min && *value <= max)) {
    throw InvalidArgument(option + " is '" + text + "'; give " + allowed);
  }
  return *value;
}

}  // namespace weir::launcher
