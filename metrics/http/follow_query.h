#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace weir {

/// The query of a reader that follows a run: "after=N&wait=SECONDS&job=ID".
struct FollowQuery {
  std::uint64_t after = 0;  ///< Number of the last item that the reader has.
  std::chrono::seconds wait{0};
};

/// Treats a number above `newest`, or one of another job than `job` (where both
/// are known), as from an earlier job, and returns 0 for it. Throws
/// InvalidArgument for an invalid query.
FollowQuery ParseFollowQuery(std::string_view query, std::string_view job, std::uint64_t newest);

}  // namespace weir
