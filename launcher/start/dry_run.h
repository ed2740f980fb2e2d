#pragma once

#include <string>

#include "launcher/options/options.h"

namespace weir::launcher {

/// Describes what weirrun would do: the command for `mpiexec`, the place of every rank, and the
/// variables that the options set, each on lines of its own. Looks for the interfaces that the
/// options name; throws InvalidArgument when one does not exist. Starts nothing.
std::string DryRun(const std::string& mpiexec, const Options& options);

}  // namespace weir::launcher
