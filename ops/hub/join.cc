#include "ops/hub/join.h"

#include <chrono>
#include <optional>
#include <utility>

#include "common/supervision/tcp.h"
#include "common/text/parse_number.h"
#include "ops/hub/hub_link.h"
#include "ops/hub/hub_server.h"
#include "ops/hub/job_token.h"
#include "ops/membership/supervisor_socket.h"
#include "weir/error.h"

namespace weir {
namespace {

/// The hub knows who is absent, so its verdict should come before a rank's own.
constexpr std::chrono::milliseconds kForTheHub{2000};

struct Place {
  std::string host;
  std::uint16_t port = 0;
};

/// Where rank 0 listens: what the user says, else what the launcher's variables tell.
Place HubPlace(const Launch& launch, const std::string& rendezvous) {
  if (rendezvous.empty()) {
    if (!launch.hub_host.empty()) return {launch.hub_host, launch.hub_port};
    throw InvalidArgument(launch.by + " started " + std::to_string(launch.ranks) +
                          " processes and does not tell where rank 0 is: set "
                          "WEIR_RENDEZVOUS=host:port to rank 0's host and a free port of it, the "
                          "same on all ranks");
  }
  const std::size_t colon = rendezvous.rfind(':');
  const auto port = ParseNumber<std::uint16_t>(
      colon == std::string::npos ? "" : std::string_view(rendezvous).substr(colon + 1));
  if (!port || *port == 0 || colon == 0) {
    throw InvalidArgument("WEIR_RENDEZVOUS=" + rendezvous + " is not of the form host:port");
  }
  return {rendezvous.substr(0, colon), *port};
}

/// No other interface than the ranks need is opened.
std::string ListenAddress(const Launch& launch, const Place& place) {
  if (launch.local_size == launch.ranks) return "127.0.0.1";
  std::string first;
  try {
    const std::string address = supervision::Resolve(place.host, place.port);
    first = address.substr(0, address.find(':'));
  } catch (const InvalidArgument&) {
    return "0.0.0.0";  // Other hosts may know the name already.
  }
  // A host may know its own name as a loopback address, by which the others do not find it.
  return first.starts_with("127.") || !supervision::IsLocalHost(first) ? "0.0.0.0" : first;
}

/// This rank's part of the hub: the link ends before the server, which waits for those of others.
struct OwnPart {
  std::optional<HubServer> server;
  std::optional<HubLink> link;
};

}  // namespace

std::unique_ptr<SupervisorMembership> JoinByHub(const Launch& launch, const Settings& settings,
                                                const std::string& own_host) {
  const auto timeout = std::chrono::milliseconds(
      static_cast<std::chrono::milliseconds::rep>(settings.start_timeout_seconds * 1000));
  const std::string token = JobToken(settings.token, settings.token_file);
  const Place place = HubPlace(launch, settings.rendezvous);
  const auto part = std::make_shared<OwnPart>();
  std::string host = launch.local_size == launch.ranks ? "127.0.0.1" : place.host;
  if (launch.rank == 0) {
    const std::string address = ListenAddress(launch, place);
    part->server.emplace(HubServer::Options{.address = address,
                                            .port = place.port,
                                            .ranks = static_cast<std::size_t>(launch.ranks),
                                            .token = token,
                                            .start_timeout = timeout});
    host = address == "0.0.0.0" ? "127.0.0.1" : address;
  }
  SocketPair pair = MakeSocketPair();
  part->link.emplace(HubLink::Options{.host = host,
                                      .port = place.port,
                                      .token = token,
                                      .rank = launch.rank,
                                      .own_host = own_host,
                                      .timeout = timeout + kForTheHub},
                     std::move(pair.supervisor));
  return std::make_unique<SupervisorMembership>(std::move(pair.engine), part);
}

}  // namespace weir
