#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

/// Processes as /proc shows them. Silently leaves out those that end meanwhile. Thread-safe.
namespace weir::launcher {

/// Returns the processes of a session, in no order, without those that only wait to be reaped.
std::vector<pid_t> ProcessesOfSession(pid_t session);

/// Returns the children of a process, in no order, without those that only wait to be reaped.
std::vector<pid_t> ChildrenOf(pid_t parent);

/// Describes a process that does not run although it might, for people: "stopped"; empty for
/// others.
std::string HaltOf(pid_t process);

/// Returns the absolute path of a process's executable; empty when it has ended.
std::string ExecutableOf(pid_t process);

/// Returns absolute names of existing files in `directory` that the process has open or mapped.
std::set<std::string> FilesInUse(pid_t process, const std::string& directory);

}  // namespace weir::launcher
