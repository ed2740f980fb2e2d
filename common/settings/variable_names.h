#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

/// Messages about environment variables that look like settings. Thread-safe.
namespace weir {

using Environment = std::map<std::string, std::string>;

/// Returns a sentence for each `WEIR_*` variable that is not among `known`, and each `HOROVOD_*`
/// one that Horovod does not have either, with the name that was probably meant. Variables of
/// Weir's own programs and of Horovod are not mistakes.
std::vector<std::string> UnknownVariables(const Environment& environment,
                                          std::span<const std::string> known);

/// Returns "HOROVOD_AUTOTUNE=1" for each variable of Horovod that is not among `known` and asks for
/// something: its value is not empty and does not mean no.
std::vector<std::string> IgnoredHorovodVariables(const Environment& environment,
                                                 std::span<const std::string> known);

}  // namespace weir
