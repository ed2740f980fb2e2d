#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts.h"

namespace weir::launcher {

/// What a batch system has given this job.
struct Allocation {
  std::vector<Host> hosts;
  int ranks = 0;       ///< How many it was asked for: the default of -np.
  std::string origin;  ///< The variable that names the hosts.
};

/// A variable's value; nothing when it is not set or empty.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;

/// The allocation that this process runs in: Slurm's (SLURM_JOB_NODELIST, SLURM_TASKS_PER_NODE,
/// SLURM_NTASKS), else that of PBS (PBS_NODEFILE: a host once for each of its slots), else nothing.
/// Throws InvalidArgument that names the variable when it cannot be understood.
std::optional<Allocation> FindAllocation(const Variables& variables);

/// The same from the environment.
std::optional<Allocation> FindAllocation();

}  // namespace weir::launcher
