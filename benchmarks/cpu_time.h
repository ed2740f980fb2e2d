#pragma once

#include <cstdint>
#include <string>

namespace weir::bench {

/// CPU time that this thread has used, in nanoseconds.
std::int64_t ThreadCpuNs();

/// CPU time, in nanoseconds, that the threads of this process with this name have used: the
/// scheduler's own account, exact while they sleep. Throws std::runtime_error when there is none.
std::int64_t CpuNsOfThreadsNamed(const std::string& name);

}  // namespace weir::bench
