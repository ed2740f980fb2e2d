#pragma once

#include <string>
#include <vector>

#include "launcher/options/options.h"
#include "launcher/start/starter.h"
#include "weir/settings.h"

namespace weir::launcher {

/// How supervisors reach weirrun, and what they have to know of it.
struct Contact {
  std::string addresses;  ///< "ip:port,ip:port".
  std::string token;
  std::string grace_seconds;
};

/// Returns what weirrun starts so that every rank has a supervisor: over MPI one mpiexec, which
/// needs variables that this sets in weirrun's own environment; over UCX one `weirrun
/// --supervise-host` for each host. Throws InvalidArgument when there is no mpiexec.
std::vector<Starter::Spec> PlanStarters(const Options& options, const Settings& settings,
                                        const Contact& contact);

}  // namespace weir::launcher
