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

#include "common/log.h"
#include "common/supervision/place.h"
#include "common/supervision/supervision.h"
#include "ops/bootstrap.h"
#include "ops/hub/join.h"
#include "ops/hub/launch.h"
#include "ops/membership/no_membership.h"
#include "ops/membership/supervisor_membership.h"
#include "weir/error.h"

namespace weir {
namespace {

/// Returns what the launcher has told, unless it is one of MPI's other than weirrun: that tells MPI
/// itself. torchrun may run under one of those, and starts its own ranks.
std::optional<Launch> OwnLaunch() {
  const bool supervised = std::getenv(supervision::kEngineFdVariable) != nullptr;
  const auto read = [](const char* name) { return std::getenv(name); };
  std::optional<Launch> launch = LaunchFromEnvironment(read);
  const bool by_known =
      launch && (launch->by == Launch::kWeirrun || launch->by == Launch::kTorchrun);
  if (!by_known && StartedByMpi()) return {};
  if (launch || supervised) return launch;
  ThrowIfOneOfSeveral(read);
  if (const std::string warning = MaybeOneOfSeveral(read); !warning.empty()) {
    LogWarning("{}", warning);
  }
  return {};
}

/// Reads a number that MPICH's launcher has set.
int Number(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  if (value != nullptr) std::from_chars(value, value + std::strlen(value), otherwise);
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

/// Returns how long this rank waits for the others to join. weirrun and the hub have a deadline,
/// too, and know the absent ranks, so that their verdict should come first.
std::chrono::milliseconds StartTimeout(const Settings& settings) {
  constexpr std::chrono::milliseconds kForTheLauncher{5000};
  return kForTheLauncher + std::chrono::milliseconds(
                               static_cast<std::int64_t>(settings.start_timeout_seconds * 1000));
}

/// Waits for this rank's place where ranks come and go; nothing in a job whose ranks are fixed.
std::optional<supervision::Place> PlaceInEpoch(SupervisorMembership& supervisor) {
  if (!supervision::InElasticJob()) return {};
  return supervisor.AwaitPlace();
}

}  // namespace

EngineEnvironment ProcessEnvironment(const Settings& settings) {
  const std::chrono::milliseconds timeout = StartTimeout(settings);
  // MPI lives on the network thread: made and used there (and finalised when the process exits).
  auto bootstrap = std::make_shared<std::optional<Bootstrap>>();
  EngineEnvironment environment;
  // First: a second engine must not say anything in the name of the first.
  auto claim = ClaimProcess(settings);
  std::optional<Launch> launch = OwnLaunch();
  environment.host = HostName();
  auto supervisor = SupervisorMembership::FromEnvironment();
  if (!supervisor && launch && launch->ranks > 1 && settings.transport != TransportKind::kMpi) {
    supervisor = JoinByHub(*launch, settings, environment.host);
  }
  const std::optional<supervision::Place> place =
      supervisor ? PlaceInEpoch(*supervisor) : std::nullopt;
  if (place) {
    launch = Launch{.by = Launch::kWeirrun,
                    .rank = place->rank,
                    .ranks = place->ranks,
                    .local_rank = place->local_rank,
                    .local_size = place->local_ranks};
  }
  environment.connect = [bootstrap, timeout, settings, launch, rendezvous = supervisor.get(),
                         claim = std::move(claim)] {
    bootstrap->emplace(settings, launch, rendezvous);
    return (*bootstrap)->Connect(timeout);
  };
  environment.disconnect = [bootstrap](bool failed) {
    if (failed && *bootstrap) (*bootstrap)->Abandon();
    bootstrap->reset();
  };
  environment.launched = supervisor != nullptr;
  if (supervisor) {
    environment.membership = std::move(supervisor);
  } else {
    environment.membership = std::make_unique<NoMembership>();
  }
  // All hosts of a job are assumed to be alike.
  environment.local_rank = launch ? launch->local_rank : Number("MPI_LOCALRANKID", 0);
  environment.local_size = launch ? launch->local_size : Number("MPI_LOCALNRANKS", 1);
  if (const char* hosts = std::getenv(supervision::kHostsVariable)) environment.hosts = hosts;
  if (place) {
    environment.hosts = place->hosts;
    environment.epoch = place->epoch;
  }
  return environment;
}

}  // namespace weir
