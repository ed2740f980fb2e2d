#pragma once

#include <string>
#include <vector>

namespace weir::launcher {

struct Host {
  std::string name;
  int slots = 1;
};

/// "a:2,b:4"; ":n" may be missing and means 1. Throws InvalidArgument that names the entry.
std::vector<Host> ParseHosts(const std::string& text);

/// A host file: one host a line, "a slots=2", "a:2" or "a"; "#" begins a comment. Throws
/// InvalidArgument that names the file and the line.
std::vector<Host> ReadHostFile(const std::string& path);

/// Adds `slots` to the host of this name, which is put last when it is new. Throws InvalidArgument
/// that begins with `where` when it is no name of a host.
void AddHost(std::vector<Host>& hosts, const std::string& where, const std::string& name,
             int slots);

/// "a:2,b:4", as ParseHosts reads it.
std::string HostsText(const std::vector<Host>& hosts);

/// The first of the hosts, with slots for just that many ranks. Throws as PlaceProcesses does.
std::vector<Host> HostsOfRanks(const std::vector<Host>& hosts, int ranks);

/// Every rank serves its metrics on `port`, of its host's first one, and those behind it; 0: none
/// does. Throws InvalidArgument when a host has more ranks than there are ports. `hosts`: with
/// slots for just the ranks.
void CheckMetricsPorts(int port, const std::vector<Host>& hosts);

/// The host of each rank, and of each server behind them: hosts are filled in their order. Throws
/// InvalidArgument when there are more than slots.
std::vector<std::string> PlaceProcesses(const std::vector<Host>& hosts, int ranks, int servers = 0);

/// Whether all hosts are this machine.
bool AllLocal(const std::vector<Host>& hosts);

}  // namespace weir::launcher
