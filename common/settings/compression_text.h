#pragma once

#include <map>
#include <string>

namespace weir {

/// Writes compression options as people do: text that CompressionFromText (weir/settings.h) reads
/// back as these, lists in brackets.
std::string CompressionText(const std::map<std::string, std::string>& options);

}  // namespace weir
