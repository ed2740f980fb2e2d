#pragma once

#include <cstddef>
#include <cstdint>

#include "coordinator/servers/server_links.h"

namespace weir {

/// A gradient group's summation servers, for its buckets.
/// Fixed once the group is registered.
struct GroupServers {
  const ServerLinks* links = nullptr;
  std::uint32_t first_number = 0;  ///< First number of the group's buckets.
  std::size_t parameter_groups = 1;
};

}  // namespace weir
