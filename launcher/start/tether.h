#pragma once

#include <string>
#include <vector>

namespace weir::launcher {

/// Returns the command that runs a command for as long as this process lives: weirrun itself, which
/// calls RunTethered.
std::vector<std::string> Tethered(const std::vector<std::string>& command);

/// True if these are the arguments of such a weirrun.
bool IsTetheredCall(const std::vector<std::string>& arguments);

/// Runs the command and ends as it ends. When the process that wanted it ends first, kills its own
/// process group, which has to be one of its own. Returns the exit code.
int RunTethered(const std::vector<std::string>& arguments);

}  // namespace weir::launcher
