#include "coordinator/engine/process_environment.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/supervision/supervision.h"
#include "ops/bootstrap.h"
#include "ops/membership/no_membership.h"
#include "ops/membership/supervisor_membership.h"
#include "weir/error.h"

namespace weir {
namespace {

/// Reads this rank's place on its host from the launcher: MPICH, Open MPI or Slurm.
int FromLauncher(std::initializer_list<const char*> names, int otherwise) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value == nullptr) continue;
    // The number at its beginning: Slurm writes "4(x2)" for two hosts of four.
    std::from_chars(value, value + std::strlen(value), otherwise);
    break;
  }
  return otherwise;
}

std::string HostName() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// A process is one rank: its place in MPI and its supervisor's socket cannot be shared. Held
/// by the engine that Create makes.
std::shared_ptr<void> ClaimProcess(const Settings& settings) {
  static std::atomic<bool> claimed = false;
  static std::atomic<bool> served = false;
  if (settings.servers > 0 && served.exchange(true)) {
    throw InvalidArgument(
        "the summation servers of this job (weirrun --servers) have ended with its first engine; "
        "keep that one, or start the job without --servers");
  }
  if (claimed.exchange(true)) {
    throw InvalidArgument(
        "this process has an engine already; destroy it before Engine::Create makes another");
  }
  return {&claimed, [](void*) { claimed = false; }};
}

/// Returns how long this rank waits for the others to join. weirrun has the same deadline, and
/// knows the absent ranks, so its verdict should come first.
std::chrono::milliseconds StartTimeout(const Settings& settings) {
  constexpr std::chrono::milliseconds kForTheLauncher{5000};
  const auto own =
      std::chrono::milliseconds(static_cast<std::int64_t>(settings.start_timeout_seconds * 1000));
  return std::getenv(supervision::kEngineFdVariable) == nullptr ? own : own + kForTheLauncher;
}

}  // namespace

EngineEnvironment ProcessEnvironment(const Settings& settings) {
  const std::chrono::milliseconds timeout = StartTimeout(settings);
  // MPI lives on the network thread: made and used there (and finalised when the process exits).
  auto bootstrap = std::make_shared<std::optional<Bootstrap>>();
  EngineEnvironment environment;
  // First: a second engine must not say anything in the name of the first.
  auto claim = ClaimProcess(settings);
  auto supervisor = SupervisorMembership::FromEnvironment();
  environment.connect = [bootstrap, timeout, settings, rendezvous = supervisor.get(),
                         claim = std::move(claim)] {
    bootstrap->emplace(settings, rendezvous);
    return (*bootstrap)->Connect(timeout);
  };
  environment.disconnect = [bootstrap](bool failed) {
    if (failed && *bootstrap) (*bootstrap)->Abandon();
    bootstrap->reset();
  };
  if (supervisor) {
    environment.membership = std::move(supervisor);
  } else {
    environment.membership = std::make_unique<NoMembership>();
  }
  environment.local_rank =
      FromLauncher({"MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"}, 0);
  // All hosts of a job are assumed to be alike.
  environment.local_size = FromLauncher(
      {"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_STEP_TASKS_PER_NODE"}, 1);
  environment.host = HostName();
  if (const char* hosts = std::getenv(supervision::kHostsVariable)) environment.hosts = hosts;
  return environment;
}

}  // namespace weir
