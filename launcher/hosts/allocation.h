#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/hosts.h"

namespace weir::launcher {

/// Resources that a batch system has given this job.
struct Allocation {
  std::vector<Host> hosts;
  int ranks = 0;       ///< Number it was asked for: the default of -np.
  std::string origin;  ///< The variable that names the hosts.
};

/// Returns a variable's value; nothing when it is not set or empty.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;

/// Returns the allocation that this process runs in: Slurm's (SLURM_JOB_NODELIST,
/// SLURM_TASKS_PER_NODE, SLURM_NTASKS), else that of PBS (PBS_NODEFILE: a host once for each of its
/// slots), else nothing. Throws InvalidArgument that names a variable it cannot parse.
std::optional<Allocation> FindAllocation(const Variables& variables);

/// Returns the same, from the environment.
std::optional<Allocation> FindAllocation();

}  // namespace weir::launcher
