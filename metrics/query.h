#pragma once

#include <cstdint>
#include <string_view>

namespace weir {

/// The value of a key in the part of a URL behind '?': "a=1&b=2". Empty when it is not there.
std::string_view QueryValue(std::string_view query, std::string_view key);

/// The same as a number from 0 to `most`. Throws InvalidArgument that says what was expected for
/// one that is none.
std::uint64_t QueryNumber(std::string_view query, std::string_view key, std::uint64_t otherwise,
                          std::uint64_t most = UINT64_MAX);

}  // namespace weir
