#pragma once

#include "launcher/options.h"
#include "weir/settings.h"

namespace weir::launcher {

/// Sets in this process what the options set for the ranks, which inherit it, and returns the
/// settings that ranks will read from it. Throws InvalidArgument for a wrong one, so that nothing
/// starts, and under strict settings for every option that has no effect. Not thread-safe.
Settings PrepareEnvironment(const Options& options);

/// Sets in this process what Horovod's launcher tells a rank of where it is (HOROVOD_RANK, ...),
/// from what mpiexec and weirrun say of it. Not thread-safe.
void SetHorovodsFacts();

/// The number in a variable that weirrun or mpiexec sets; `otherwise` where it is not set. Throws
/// InvalidArgument for what is not a number.
int EnvironmentNumber(const char* variable, int otherwise);

}  // namespace weir::launcher
