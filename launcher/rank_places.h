#pragma once

#include <string>
#include <vector>

namespace weir::launcher {

/// Where ranks are, for people. `hosts[r]` is the host of rank r; the ranks ascend.
/// "ranks 0-1 on a, rank 2 on b".
std::string Places(const std::vector<std::string>& hosts, const std::vector<int>& ranks);

/// "rank 2 on b".
std::string Place(const std::vector<std::string>& hosts, int rank);

}  // namespace weir::launcher
