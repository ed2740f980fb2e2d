#pragma once

#include <string>
#include <vector>

namespace weir::launcher {

/// Writes a command as a shell would read it back: one line, words quoted where needed.
std::string ShellWords(const std::vector<std::string>& command);

}  // namespace weir::launcher
