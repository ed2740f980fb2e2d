#pragma once

#include <string>
#include <vector>

#include "launcher/options/options.h"
#include "launcher/start/contact.h"
#include "launcher/start/starter.h"
#include "weir/settings.h"

namespace weir::launcher {

/// Returns what weirrun starts so that every rank has a supervisor: over MPI one mpiexec, which
/// needs variables that this sets in weirrun's own environment; over UCX one `weirrun
/// --supervise-host` for each host. Throws InvalidArgument when there is no mpiexec.
std::vector<Starter::Spec> PlanStarters(const Options& options, const Settings& settings,
                                        const Contact& contact);

/// Returns what starts further processes of a job over UCX: hosts[p] is that of process p, empty
/// for one that runs already or is over.
std::vector<Starter::Spec> PlanMore(const Options& options, const Settings& settings,
                                    const Contact& contact, std::vector<std::string> hosts);

}  // namespace weir::launcher
