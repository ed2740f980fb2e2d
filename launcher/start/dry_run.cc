#include "launcher/start/dry_run.h"

#include "common/summary/rank_places.h"
#include "common/supervision/tcp.h"
#include "launcher/hosts/hosts.h"
#include "launcher/text/shell_words.h"

namespace weir::launcher {
namespace {

/// Writes "ranks 0-1 on a" for each host that has ranks.
std::string Places(const Options& options) {
  std::string text;
  int first = 0;
  for (const Host& host : HostsOfRanks(options.hosts, options.ranks)) {
    const int last = first + host.slots - 1;
    const std::string one = "rank " + std::to_string(first);
    const std::string several = "ranks " + std::to_string(first) + "-" + std::to_string(last);
    text += "  " + (first == last ? one : several) + " on " + host.name + "\n";
    first = last + 1;
  }
  const RankPlaces places(PlaceProcesses(options.hosts, options.ranks, options.servers),
                          options.servers);
  for (int s = options.ranks; s < options.processes(); ++s) text += "  " + places.Of(s) + "\n";
  return text;
}

}  // namespace

std::string DryRun(const std::vector<Starter::Spec>& starters, const Options& options) {
  if (!AllLocal(options.hosts)) supervision::HostAddresses(options.interfaces);
  std::string text = starters.size() == 1 ? "command:\n" : "commands:\n";
  for (const Starter::Spec& starter : starters) text += "  " + ShellWords(starter.command) + "\n";
  text += "ranks:\n" + Places(options) + "environment:\n";
  for (const auto& [name, value] : options.environment) {
    text += "  " + name + "=" + ShellWords({value}) + "\n";
  }
  return text;
}

}  // namespace weir::launcher
