#pragma once

#include "launcher/options/options.h"
#include "weir/settings.h"

namespace weir::launcher {

/// Sets the options' variables in this process, for the ranks to inherit, and returns the settings
/// that ranks will read. Throws InvalidArgument for a wrong one, so that nothing starts, and under
/// strict settings for every option that has no effect. Not thread-safe.
Settings PrepareEnvironment(const Options& options);

/// Sets the variables in which Horovod's launcher tells a rank its place (HOROVOD_RANK, ...), from
/// those of mpiexec and weirrun. Not thread-safe.
void SetHorovodsFacts();

/// Returns the number in a variable that weirrun or mpiexec sets; `otherwise` if it is not set.
/// Throws InvalidArgument for anything but a number.
int EnvironmentNumber(const char* variable, int otherwise);

}  // namespace weir::launcher
