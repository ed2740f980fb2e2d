#pragma once

#include <string>

namespace weir::launcher {

/// "signal 9 (Killed)" or "exit code 3", from what waitpid() gave.
std::string DescribeStatus(int wait_status);

/// What a shell would say: the exit code, or 128 + the signal's number.
int ShellCode(int wait_status);

}  // namespace weir::launcher
