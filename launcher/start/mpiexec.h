#pragma once

#include <string>
#include <vector>

#include "launcher/options/options.h"

/// Hydra, MPICH's process manager: it starts one supervisor per rank, on this host and by ssh on
/// others, and gives the ranks the means to find each other (PMI).
namespace weir::launcher {

/// Returns $WEIR_MPIEXEC, else the mpiexec beside this executable, else that of
/// the MPI that Weir was built with, else the one in $PATH. Throws
/// InvalidArgument when there is none.
std::string FindMpiexec();

/// Returns the whole command line for Hydra.
std::vector<std::string> MpiexecCommand(const std::string& mpiexec, const Options& options);

}  // namespace weir::launcher
