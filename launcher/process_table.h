#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

/// What /proc says about processes. Whatever ends meanwhile is silently left out. Thread-safe.
namespace weir::launcher {

/// The processes of a session, in no order, without those that only wait to be reaped.
std::vector<pid_t> ProcessesOfSession(pid_t session);

/// The children of a process, in no order, without those that only wait to be reaped.
std::vector<pid_t> ChildrenOf(pid_t parent);

/// Absolute path of what a process runs; empty when it has ended.
std::string ExecutableOf(pid_t process);

/// Absolute names of the existing files in `directory` that the process has open or mapped.
std::set<std::string> FilesInUse(pid_t process, const std::string& directory);

}  // namespace weir::launcher
