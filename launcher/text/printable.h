#pragma once

#include <string>
#include <string_view>

namespace weir::launcher {

/// Returns text of others so that it may stand in a message to a terminal: what is not printable
/// ASCII becomes "?", and what is long is cut.
std::string Printable(std::string_view text);

}  // namespace weir::launcher
