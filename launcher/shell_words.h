#pragma once

#include <string>
#include <vector>

namespace weir::launcher {

/// A command as a shell would read it back: one line, words quoted where they have to be.
std::string ShellWords(const std::vector<std::string>& command);

}  // namespace weir::launcher
