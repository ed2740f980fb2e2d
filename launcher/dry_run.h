#pragma once

#include <string>

#include "launcher/options.h"

namespace weir::launcher {

/// What weirrun would do: the command for `mpiexec`, the place of every rank, and the variables
/// that the options set, each on lines of its own. Looks for the interfaces that the options name;
/// throws InvalidArgument when one is not there. Starts nothing.
std::string DryRun(const std::string& mpiexec, const Options& options);

}  // namespace weir::launcher
