#pragma once

#include <string>
#include <vector>

#include "launcher/options/options.h"
#include "launcher/start/host_job.h"
#include "launcher/start/starter.h"

/// How weirrun starts the ranks where no process manager of MPI's does: one `weirrun
/// --supervise-host` on each host, by fork here, by ssh elsewhere, or by srun on all hosts of a
/// Slurm job.
namespace weir::launcher {

/// Returns the job's part that does not depend on a token: its hosts, commands, folder and this
/// process's environment.
HostJob MakeHostJob(const Options& options);

/// Returns what to start for `job`. ssh may take `start_seconds` to connect.
std::vector<Starter::Spec> PlanHostAgents(const Options& options, const HostJob& job,
                                          double start_seconds);

}  // namespace weir::launcher
