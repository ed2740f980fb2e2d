#pragma once

#include <string>
#include <vector>

namespace weir {

struct HostRanks {
  std::string host;
  int ranks = 0;
};

/// What a launcher says of the job's hosts, "a:2,b:1", in the order of their ranks. What cannot be
/// read is left out, as it is for people.
std::vector<HostRanks> ParseHostList(const std::string& text);

}  // namespace weir
