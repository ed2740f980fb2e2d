#pragma once

#include <string>
#include <vector>

#include "launcher/options/options.h"
#include "launcher/start/starter.h"

namespace weir::launcher {

/// Describes what weirrun would do: the commands of its `starters`, the place of every rank, and
/// the variables that the options set, each on lines of its own. Looks for the interfaces that the
/// options name; throws InvalidArgument when one does not exist. Starts nothing.
std::string DryRun(const std::vector<Starter::Spec>& starters, const Options& options);

}  // namespace weir::launcher
