#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/unique_fd.h"
#include "launcher/options/options.h"
#include "launcher/start/file_limit.h"

/// Hydra, MPICH's process manager: it starts one supervisor per rank, on this host and by ssh on
/// others, and gives the ranks the means to find each other (PMI).
namespace weir::launcher {

/// Returns $WEIR_MPIEXEC, else the mpiexec beside this executable, else that of
/// the MPI that Weir was built with, else the one in $PATH. Throws
/// InvalidArgument when there is none.
std::string FindMpiexec();

/// Returns the absolute path of this executable.
std::string OwnPath();

/// Returns the whole command line for Hydra.
std::vector<std::string> MpiexecCommand(const std::string& mpiexec, const Options& options);

/// A started mpiexec, in a process group of its own so that ^C reaches only weirrun.
struct Mpiexec {
  pid_t pid = -1;
  UniqueFd output;  ///< Its stdout and stderr, non-blocking.
};

/// Starts mpiexec with the user's own limit on open files. Throws
/// InvalidArgument when that fails.
Mpiexec StartMpiexec(const std::vector<std::string>& command, const FileLimit& limit);

}  // namespace weir::launcher
