#pragma once

#include <string>

namespace weir::launcher {

/// Returns the whole text of a file that `option` names. Throws InvalidArgument that names both
/// when it is a folder, cannot be read, or holds a NUL byte, with the line of that byte.
std::string ReadTextFile(const std::string& option, const std::string& path);

}  // namespace weir::launcher
