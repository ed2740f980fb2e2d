#pragma once

#include <string>

namespace weir::launcher {

/// Writes "signal 9 (Killed)" or "exit code 3", from the status of waitpid().
std::string DescribeStatus(int wait_status);

/// Returns a shell's exit code: the process's own, or 128 + the signal's number.
int ShellCode(int wait_status);

}  // namespace weir::launcher
