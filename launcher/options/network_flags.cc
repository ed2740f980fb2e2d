#include "launcher/options/network_flags.h"

#include <cstdlib>
#include <utility>

#include "launcher/options/horovod_flags.h"
#include "launcher/text/words.h"

namespace weir::launcher {
namespace {

/// Messages leave at once, and UCX writes them in large pieces. By default it asks the receiver of
/// a large one first, and that question waits behind everything the connection already carries: a
/// link of 100 Mb/s then rests a third of the time. Its default pieces of 8 KiB cost a copy and a
/// call each. Above the threshold it still asks, and then nothing is copied: on fast networks
/// reductions use pieces of that size (ChunkStream::kLargeChunkBytes).
constexpr std::pair<const char*, const char*> kUcxOverTcp[] = {
    {"UCX_RNDV_THRESH", "768k"}, {"UCX_TCP_TX_SEG_SIZE", "256k"}, {"UCX_TCP_RX_SEG_SIZE", "256k"}};

}  // namespace

void AddNetworkFlags(CLI::App& app, NetworkFlags& flags) {
  app.add_option("--network-interfaces,--network-interface", flags.interfaces,
                 "Interfaces to use between hosts, as in eth0,eth1.");
  app.add_flag("--tcp", flags.tcp, "Use only TCP between hosts.");
  for (const ControllerFlag& flag : ControllerFlags()) {
    app.add_flag(flag.flag)->description("Means --transport " + flag.transport + ".")->group("");
  }
}

std::vector<std::string> TransportForms() {
  std::vector<std::string> forms = {"--transport"};
  for (const ControllerFlag& flag : ControllerFlags()) forms.push_back(flag.flag);
  return forms;
}

void TakeNetworkFlags(const CLI::App& app, const NetworkFlags& flags, Options& options) {
  for (const ControllerFlag& flag : ControllerFlags()) {
    if (app.count(flag.flag) == 0) continue;
    options.environment["WEIR_TRANSPORT"] = flag.transport;
    options.origins["WEIR_TRANSPORT"] = flag.flag;
  }
  options.interfaces = Words(flags.interfaces, ',');
  if (!options.interfaces.empty()) {
    options.environment["NCCL_SOCKET_IFNAME"] = flags.interfaces;
    options.environment["UCX_NET_DEVICES"] = flags.interfaces;
    options.environment["FI_TCP_IFACE"] = options.interfaces.front();
  }
  if (!flags.tcp) return;
  options.environment["NCCL_IB_DISABLE"] = "1";
  options.environment["UCX_TLS"] = "tcp,sm,self";
  options.environment["FI_PROVIDER"] = "tcp";
  // A user's own choice stays.
  for (const auto& [name, value] : kUcxOverTcp) {
    if (std::getenv(name) == nullptr) options.environment[name] = value;
  }
}

}  // namespace weir::launcher
