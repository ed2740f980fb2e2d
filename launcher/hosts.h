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

/// The host of each rank: hosts are filled in their order. Throws InvalidArgument when there are
/// more ranks than slots.
std::vector<std::string> PlaceRanks(const std::vector<Host>& hosts, int ranks);

/// Whether all hosts are this machine.
bool AllLocal(const std::vector<Host>& hosts);

}  // namespace weir::launcher
