#pragma once

#include <memory>
#include <string>

#include "ops/hub/launch.h"
#include "ops/membership/supervisor_membership.h"
#include "weir/settings.h"

namespace weir {

/// Joins a job that another launcher than weirrun has started: rank 0 opens the job's hub, and
/// every rank connects to it. Waits for no rank, rank 0 perhaps for a name server; the ranks meet
/// by Rendezvous::Meet. `own_host` is this host's name, for people. Throws InvalidArgument when
/// nothing tells where rank 0 is, its port is taken, or there is no token.
std::unique_ptr<SupervisorMembership> JoinByHub(const Launch& launch, const Settings& settings,
                                                const std::string& own_host);

}  // namespace weir
