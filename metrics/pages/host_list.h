#pragma once

#include <string>
#include <vector>

namespace weir {

struct HostRanks {
  std::string host;
  int ranks = 0;
};

/// Parses a launcher's list of the job's hosts, "a:2,b:1", in the order of their ranks. Leaves out
/// unreadable entries, because the list is for people.
std::vector<HostRanks> ParseHostList(const std::string& text);

}  // namespace weir
