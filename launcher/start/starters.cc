#include "launcher/start/starters.h"

#include <cstdlib>
#include <numeric>
#include <utility>

#include "common/supervision/supervision.h"
#include "launcher/hosts/hosts.h"
#include "launcher/start/host_agents.h"
#include "launcher/start/inherited_listeners.h"
#include "launcher/start/mpiexec.h"
#include "launcher/start/reach.h"
#include "launcher/start/remote_shell.h"

namespace weir::launcher {
namespace {

/// Keeps the UCX of MPI from listening in a job of one host, where shared memory reaches all ranks.
/// A user's own choice wins.
void ConfineMpi() {
  if (std::getenv("UCX_NET_DEVICES") == nullptr) setenv("UCX_TLS", "^tcp", 0);
}

Starter::Spec PlanMpiexec(const Options& options, const Settings& settings,
                          const Contact& contact) {
  KeepListenersFromChildren();  // Those of Hydra get a filter.
  setenv(supervision::kAddressesVariable, contact.addresses.c_str(), 1);
  setenv(supervision::kTokenVariable, contact.token.c_str(), 1);
  setenv(supervision::kGraceVariable, contact.grace_seconds.c_str(), 1);
  const std::string ssh = VariableOrEmpty("HYDRA_LAUNCHER_EXEC");
  setenv(kRemoteShellVariable,
         RemoteShellValue(settings.start_timeout_seconds, ssh.empty() ? "ssh" : ssh).c_str(), 1);
  if (AllLocal(options.hosts)) ConfineMpi();
  Starter::Spec spec{
      .name = "mpiexec",
      .command = MpiexecCommand(FindMpiexec(), options),
      .ranks = std::vector<int>(static_cast<std::size_t>(options.processes())),
      .advice =
          "are the hosts right (-H, --hostfile), and what goes to mpiexec (--mpi-args, "
          "--binding-args; --verbose shows it)?"};
  std::iota(spec.ranks.begin(), spec.ranks.end(), 0);
  unsetenv("WEIR_MPIEXEC");  // For weirrun alone.
  return spec;
}

}  // namespace

std::vector<Starter::Spec> PlanStarters(const Options& options, const Settings& settings,
                                        const Contact& contact) {
  if (settings.transport != TransportKind::kUcx) return {PlanMpiexec(options, settings, contact)};
  return PlanMore(options, settings, contact,
                  PlaceProcesses(options.hosts, options.ranks, options.servers));
}

std::vector<Starter::Spec> PlanMore(const Options& options, const Settings& settings,
                                    const Contact& contact, std::vector<std::string> hosts) {
  HostJob job = MakeHostJob(options);
  job.hosts = std::move(hosts);
  job.addresses = contact.addresses;
  job.token = contact.token;
  job.grace_seconds = contact.grace_seconds;
  return PlanHostAgents(options, job, settings.start_timeout_seconds);
}

}  // namespace weir::launcher
