#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/servers/group_description.h"
#include "coordinator/servers/served_bucket.h"

namespace weir {

/// Who adds up what: which of the servers, and for how many workers.
struct ServerPlace {
  int server = 0;  ///< Of `servers`.
  int servers = 1;
  int workers = 1;
  int rank = 0;  ///< Of the server, in the job.
};

/// What one summation server does for a gradient group.
struct ServedGroup {
  std::string name;
  std::uint32_t first_number = 0;
  /// By number; null where the server has no part of a bucket.
  std::vector<std::unique_ptr<ServedBucket>> buckets;
};

/// Makes the plan that the workers have made. Throws Corrupt for a description from which none can
/// be made.
ServedGroup MakeServedGroup(const GroupDescription& description, const ServerPlace& place);

}  // namespace weir
