#pragma once

#include <cstdint>
#include <string>

namespace weir::bench {

/// CPU time that this thread has used, in nanoseconds.
std::int64_t ThreadCpuNs();

/// Returns the CPU time, in nanoseconds, of this process's threads with this name, as the scheduler
/// counts it: exact while they sleep. Throws std::runtime_error if there is none.
std::int64_t CpuNsOfThreadsNamed(const std::string& name);

}  // namespace weir::bench
