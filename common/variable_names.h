#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

/// What to say of environment variables that look like settings. Thread-safe.
namespace weir {

using Environment = std::map<std::string, std::string>;

/// A sentence for each `WEIR_*` variable that is not among `known`, and each `HOROVOD_*` one that
/// Horovod does not have either, with the name that was probably meant. Weir's own programs'
/// variables and Horovod's are no mistakes.
std::vector<std::string> UnknownVariables(const Environment& environment,
                                          std::span<const std::string> known);

/// "HOROVOD_AUTOTUNE=1" for each of Horovod's variables that is not among `known` and asks for
/// something: its value is not empty and does not say no.
std::vector<std::string> IgnoredHorovodVariables(const Environment& environment,
                                                 std::span<const std::string> known);

}  // namespace weir
