#include "launcher/hosts/hosts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <sstream>
#include <utility>

#include "common/supervision/tcp.h"
#include "common/text/parse_number.h"
#include "launcher/text/printable.h"
#include "launcher/text/text_file.h"
#include "weir/error.h"

namespace weir::launcher {
namespace {

int ParseSlots(const std::string& text, const std::string& where) {
  const std::optional<int> slots = ParseNumber<int>(text);
  if (!slots || *slots < 1) {
    throw InvalidArgument(where + ": '" + Printable(text) +
                          "' is not a number of slots; give 1 or more");
  }
  return *slots;
}

/// The name is passed to ssh and Hydra, where a leading dash would make it an option.
bool IsHostName(const std::string& name) {
  return !name.empty() && name[0] != '-' && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
  });
}

Host ParseHost(const std::string& text, const std::string& where, int slots = 1) {
  const std::size_t colon = text.find(':');
  Host host{.name = text.substr(0, colon), .slots = slots};
  if (colon != std::string::npos) host.slots = ParseSlots(text.substr(colon + 1), where);
  if (!IsHostName(host.name)) {
    throw InvalidArgument(where + ": '" + Printable(text) +
                          "' is not a host; give name:slots, as in a:2,b:2");
  }
  return host;
}

void Add(std::vector<Host>& hosts, Host host, const std::string& where) {
  if (std::ranges::find(hosts, host.name, &Host::name) != hosts.end()) {
    throw InvalidArgument(where + ": host '" + Printable(host.name) +
                          "' appears twice; add up its slots");
  }
  hosts.push_back(std::move(host));
}

}  // namespace

std::vector<Host> ParseHosts(const std::string& text) {
  std::vector<Host> hosts;
  std::istringstream list(text);
  for (std::string one; std::getline(list, one, ',');) Add(hosts, ParseHost(one, "-H"), "-H");
  if (hosts.empty()) throw InvalidArgument("-H names no host; give name:slots, as in a:2,b:2");
  return hosts;
}

std::vector<Host> ParseHostLines(std::istream& lines, const std::string& where, int slots) {
  std::vector<Host> hosts;
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string here = where + std::to_string(number);
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name;
    if (!(words >> name)) continue;
    Host host = ParseHost(name, here, slots);
    for (std::string word; words >> word;) {
      if (!word.starts_with("slots=")) {
        throw InvalidArgument(here + ": '" + Printable(word) +
                              "' is not known here; only slots=<n> is");
      }
      host.slots = ParseSlots(word.substr(6), here);
    }
    Add(hosts, std::move(host), here);
  }
  return hosts;
}

std::vector<Host> ReadHostFile(const std::string& path) {
  std::istringstream file(ReadTextFile("--hostfile", path));
  std::vector<Host> hosts = ParseHostLines(file, path + ":", 1);
  if (hosts.empty()) throw InvalidArgument("--hostfile: '" + path + "' names no host");
  return hosts;
}

void AddHost(std::vector<Host>& hosts, const std::string& where, const std::string& name,
             int slots) {
  if (!IsHostName(name)) {
    throw InvalidArgument(where + ": '" + name + "' is not the name of a host");
  }
  const auto known = std::ranges::find(hosts, name, &Host::name);
  if (known == hosts.end()) {
    hosts.push_back({.name = name, .slots = slots});
  } else {
    known->slots += slots;
  }
}

std::string HostsText(const std::vector<Host>& hosts) {
  std::string text;
  for (const Host& host : hosts) {
    text += (text.empty() ? "" : ",") + host.name + ":" + std::to_string(host.slots);
  }
  return text;
}

std::vector<Host> HostsOfRanks(const std::vector<Host>& hosts, int ranks) {
  PlaceProcesses(hosts, ranks);
  std::vector<Host> used;
  for (const Host& host : hosts) {
    const int here = std::min(host.slots, ranks);
    if (here > 0) used.push_back({.name = host.name, .slots = here});
    ranks -= here;
  }
  return used;
}

void CheckMetricsPorts(int port, const std::vector<Host>& hosts) {
  constexpr int kLastPort = 65535;
  if (port == 0) return;
  for (const Host& host : hosts) {
    if (host.slots <= kLastPort - port + 1) continue;
    throw InvalidArgument(fmt::format(
        "--metrics-port {} leaves ports for {} of the {} ranks on {}: each serves on one of its "
        "own, and the last port is {}; give {} or less",
        port, kLastPort - port + 1, host.slots, host.name, kLastPort, kLastPort - host.slots + 1));
  }
}

std::vector<std::string> PlaceProcesses(const std::vector<Host>& hosts, int ranks, int servers) {
  const int processes = ranks + servers;
  std::vector<std::string> places;
  std::int64_t slots = 0;  // On all hosts: perhaps far more than ranks.
  for (const Host& host : hosts) {
    slots += host.slots;
    while (std::cmp_less(places.size(), std::min<std::int64_t>(slots, processes))) {
      places.push_back(host.name);
    }
  }
  if (slots < processes) {
    const std::string asked =
        servers == 0 ? " asks for more ranks than the "
                     : " and --servers " + std::to_string(servers) + " ask for more than the ";
    throw InvalidArgument("-np " + std::to_string(ranks) + asked + std::to_string(slots) +
                          " slots of the hosts; add hosts, or raise their slots");
  }
  return places;
}

bool AllLocal(const std::vector<Host>& hosts) {
  return std::ranges::all_of(hosts,
                             [](const Host& host) { return supervision::IsLocalHost(host.name); });
}

}  // namespace weir::launcher
