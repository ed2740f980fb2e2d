#include "launcher/start/contact.h"

#include <vector>

#include "common/supervision/tcp.h"
#include "launcher/hosts/hosts.h"
#include "weir/error.h"

namespace weir::launcher {
namespace {

/// True if all hosts are this one and will be: those that a script finds may be others later.
bool StaysHere(const Options& options) {
  return options.host_script.empty() && AllLocal(options.hosts);
}

}  // namespace

std::string ListenAddress(const Options& options) {
  if (StaysHere(options)) return "127.0.0.1";
  if (options.interfaces.size() != 1) return "0.0.0.0";
  return supervision::HostAddresses(options.interfaces).front();
}

std::string ContactAddresses(const Options& options, std::uint16_t port) {
  std::vector<std::string> addresses = {"127.0.0.1"};
  if (!StaysHere(options)) addresses = supervision::HostAddresses(options.interfaces);
  if (addresses.empty() && !AllLocal(options.hosts)) {
    throw InvalidArgument("this host has no network address that other hosts could reach");
  }
  // Other hosts, which the script may name later, could not be reached in any case.
  if (addresses.empty()) addresses = {"127.0.0.1"};
  std::string text;
  for (const std::string& address : addresses) {
    text += (text.empty() ? "" : ",") + address + ":" + std::to_string(port);
  }
  return text;
}

}  // namespace weir::launcher
