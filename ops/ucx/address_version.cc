#include "ops/ucx/address_version.h"

#include <algorithm>

#include "weir/error.h"

namespace weir::ucx {

std::string WithVersion(const std::string& version, const std::string& address) {
  return version + " " + address;
}

void TakeVersions(std::vector<std::string>& addresses) {
  std::string first;
  for (std::size_t rank = 0; rank < addresses.size(); ++rank) {
    const std::size_t end = std::min(addresses[rank].find(' '), addresses[rank].size());
    const std::string version = addresses[rank].substr(0, end);
    addresses[rank].erase(0, end + 1);
    if (rank == 0) first = version;
    if (version == first) continue;
    throw InvalidArgument("rank 0 has UCX " + first + " and rank " + std::to_string(rank) +
                          " has " + version +
                          ", which do not understand each other: install one version on all hosts "
                          "(WEIR_UCX_LIBRARY)");
  }
}

}  // namespace weir::ucx
