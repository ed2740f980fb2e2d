#pragma once

#include <cstdint>
#include <string_view>

namespace weir {

/// Returns the value of a key in the part of a URL after '?': "a=1&b=2". Empty when absent.
std::string_view QueryValue(std::string_view query, std::string_view key);

/// Returns the value as a number from 0 to `most`. Throws InvalidArgument that says what
/// was expected for anything else.
std::uint64_t QueryNumber(std::string_view query, std::string_view key, std::uint64_t otherwise,
                          std::uint64_t most = UINT64_MAX);

}  // namespace weir
