#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/servers/group_description.h"
#include "coordinator/servers/served_bucket.h"

namespace weir {

/// A server's place: its number, and the number of workers.
struct ServerPlace {
  int server = 0;  ///< Number among `servers`.
  int servers = 1;
  int workers = 1;
  int rank = 0;  ///< The server's rank in the job.
};

/// What one summation server serves of a gradient group.
struct ServedGroup {
  std::string name;
  std::uint32_t first_number = 0;
  /// By number; null if the server has no part of a bucket.
  std::vector<std::unique_ptr<ServedBucket>> buckets;
};

/// Makes the plan that the workers have made. Throws Corrupt for
/// a description that allows none.
ServedGroup MakeServedGroup(const GroupDescription& description, const ServerPlace& place);

}  // namespace weir
