#pragma once

#include <istream>
#include <string>
#include <vector>

namespace weir::launcher {

struct Host {
  std::string name;
  int slots = 1;
};

/// Parses "a:2,b:4"; ":n" may be missing and means 1. Throws InvalidArgument that names the entry.
std::vector<Host> ParseHosts(const std::string& text);

/// Reads hosts, one a line: "a slots=2", "a:2", or "a" with `slots` of them; "#" begins a comment.
/// Throws InvalidArgument that begins with `where` and the number of the line.
std::vector<Host> ParseHostLines(std::istream& lines, const std::string& where, int slots);

/// Reads a host file of such lines. Throws InvalidArgument that names the file and the line.
std::vector<Host> ReadHostFile(const std::string& path);

/// Adds `slots` to the host of this name, which is put last when it is new. Throws InvalidArgument
/// that begins with `where` when the name cannot be a host's.
void AddHost(std::vector<Host>& hosts, const std::string& where, const std::string& name,
             int slots);

/// Writes "a:2,b:4", as ParseHosts reads it.
std::string HostsText(const std::vector<Host>& hosts);

/// Returns the first hosts, with slots for just that many ranks. Throws as PlaceProcesses does.
std::vector<Host> HostsOfRanks(const std::vector<Host>& hosts, int ranks);

/// Checks the ports of the ranks' metrics: `port` for the first rank of a host, the following ports
/// for the others; 0: no metrics. Throws InvalidArgument when a host has more ranks than there are
/// ports. `hosts`: with slots for just the ranks.
void CheckMetricsPorts(int port, const std::vector<Host>& hosts);

/// Returns the host of each rank, and then of each server: hosts are filled in their order. Throws
/// InvalidArgument when there are more than slots.
std::vector<std::string> PlaceProcesses(const std::vector<Host>& hosts, int ranks, int servers = 0);

/// True if all hosts are this machine.
bool AllLocal(const std::vector<Host>& hosts);

}  // namespace weir::launcher
