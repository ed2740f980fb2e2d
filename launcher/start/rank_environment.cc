#include "launcher/start/rank_environment.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "common/settings/strict.h"
#include "common/supervision/supervision.h"
#include "common/supervision/tcp.h"
#include "common/text/parse_number.h"
#include "launcher/hosts/hosts.h"
#include "weir/error.h"

namespace weir::launcher {
namespace {

void SetElastic() {
  setenv(supervision::kElasticVariable, "1", 1);
  setenv("HOROVOD_ELASTIC", "1", 1);
  // Unless the user has chosen: then that is checked.
  setenv("WEIR_TRANSPORT", "ucx", 0);
}

/// Sets where torch.distributed's ranks meet, at rank 0's host, as torchrun does. The port is free
/// on this machine, and as good as any other elsewhere.
void SetMeetingPlace(const std::vector<Host>& hosts) {
  std::string place = hosts.front().name;
  if (AllLocal(hosts)) {
    place = "127.0.0.1";
  } else if (supervision::IsLocalHost(place)) {
    // Its name may mean another host elsewhere.
    const std::vector<std::string> own = supervision::HostAddresses({});
    if (!own.empty()) place = own.front();
  }
  // Where RANK is set, they are of a job around this one.
  const int replaces = std::getenv("RANK") != nullptr ? 1 : 0;
  setenv("MASTER_ADDR", place.c_str(), replaces);
  const std::uint16_t port = supervision::PortOf(supervision::Listen("0.0.0.0"));
  setenv("MASTER_PORT", std::to_string(port).c_str(), replaces);
}

}  // namespace

Settings PrepareEnvironment(Options& options) {
  std::string origins;
  // They may be set for a job around this one.
  for (const char* other : {"WEIR_SERVERS", supervision::kElasticVariable}) unsetenv(other);
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  for (const auto& [name, origin] : options.origins) origins += name + "=" + origin + "\n";
  setenv(supervision::kOriginsVariable, origins.c_str(), 1);
  const std::vector<Host> hosts = HostsOfRanks(options.hosts, options.ranks);
  setenv(supervision::kHostsVariable, HostsText(hosts).c_str(), 1);
  if (options.elastic) {
    SetElastic();
    for (const char* outer : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"})
      unsetenv(outer);
  } else {
    SetMeetingPlace(hosts);
  }
  Settings settings = Settings::FromEnvironment();
  if (options.elastic && settings.transport != TransportKind::kUcx) {
    throw InvalidArgument(
        "an elastic job (--min-np) needs UCX, as MPI does not outlive a rank; leave "
        "--transport, --mpi and WEIR_TRANSPORT out");
  }
  CheckMetricsPorts(settings.metrics_port, hosts);
  if (settings.transport == TransportKind::kUcx && !options.mpiexec_arguments.empty()) {
    options.notices.emplace_back(
        "--mpi-args and --binding-args have no effect: over UCX weirrun starts the ranks itself, "
        "without mpiexec; to bind them, run each under taskset or numactl");
  }
  if (settings.strict && !options.notices.empty()) {
    throw StrictError(fmt::format("{}", fmt::join(options.notices, "; ")));
  }
  return settings;
}

namespace {

/// Returns the number in a variable that weirrun or mpiexec sets; `otherwise` if it is not set.
/// Throws InvalidArgument for anything but a number.
int EnvironmentNumber(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return otherwise;
  if (const auto number = ParseNumber<int>(text)) return *number;
  throw InvalidArgument(
      fmt::format("{} is '{}', which is not a number; weirrun and mpiexec set it", variable, text));
}

}  // namespace

RankPlace PlaceFromHydra() {
  const RankPlace place{.rank = EnvironmentNumber("PMI_RANK", -1),
                        .size = EnvironmentNumber("PMI_SIZE", 1),
                        .local_rank = EnvironmentNumber("MPI_LOCALRANKID", 0),
                        .local_size = EnvironmentNumber("MPI_LOCALNRANKS", 1)};
  if (place.rank < 0) throw InvalidArgument("PMI_RANK is not set; was this started by mpiexec?");
  return place;
}

void SetPlace(const RankPlace& place) {
  const char* text = std::getenv(supervision::kHostsVariable);
  // Among hosts with a rank of this local number: those before this one, and all.
  int cross_rank = 0, cross_size = 0, first = 0;
  int slots_here = 1;
  std::string name;
  for (const Host& host : ParseHosts(text == nullptr ? "localhost" : text)) {
    if (host.slots > place.local_rank) {
      if (first + host.slots <= place.rank) ++cross_rank;
      ++cross_size;
    }
    if (first <= place.rank) {
      name = host.name;
      slots_here = host.slots;
    }
    first += host.slots;
  }
  // The place counts the servers too, which the program must not see.
  const int servers = EnvironmentNumber("WEIR_SERVERS", 0);
  const int local_ranks = servers > 0 ? slots_here : place.local_size;
  if (servers > 0) setenv("MPI_LOCALNRANKS", std::to_string(slots_here).c_str(), 1);
  const std::pair<const char*, int> facts[] = {{supervision::kRankVariable, place.rank},
                                               {supervision::kSizeVariable, place.size},
                                               {supervision::kLocalRankVariable, place.local_rank},
                                               {supervision::kLocalSizeVariable, local_ranks},
                                               {"HOROVOD_RANK", place.rank},
                                               {"HOROVOD_SIZE", place.size - servers},
                                               {"HOROVOD_LOCAL_RANK", place.local_rank},
                                               {"HOROVOD_LOCAL_SIZE", local_ranks},
                                               {"HOROVOD_CROSS_RANK", cross_rank},
                                               {"HOROVOD_CROSS_SIZE", cross_size}};
  for (const auto& [variable, value] : facts) setenv(variable, std::to_string(value).c_str(), 1);
  setenv("HOROVOD_HOSTNAME", name.c_str(), 1);
  // The numbers of an elastic job's ranks change, which torch.distributed does not follow.
  if (std::getenv(supervision::kElasticVariable) != nullptr) return;
  const std::pair<const char*, int> of_torch[] = {{"RANK", place.rank},
                                                  {"WORLD_SIZE", place.size - servers},
                                                  {"LOCAL_RANK", place.local_rank},
                                                  {"LOCAL_WORLD_SIZE", local_ranks}};
  for (const auto& [variable, value] : of_torch) setenv(variable, std::to_string(value).c_str(), 1);
}

}  // namespace weir::launcher
