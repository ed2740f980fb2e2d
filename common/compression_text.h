#pragma once

#include <map>
#include <string>

namespace weir {

/// Compression options as people write them: what CompressionFromText (weir/settings.h) takes for
/// these, lists in brackets.
std::string CompressionText(const std::map<std::string, std::string>& options);

}  // namespace weir
