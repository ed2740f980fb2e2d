#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace weir {

/// What a reader that follows a run asks for: "after=N&wait=SECONDS&job=ID".
struct FollowQuery {
  std::uint64_t after = 0;  ///< Where it goes on: it has what comes before.
  std::chrono::seconds wait{0};
};

/// A number that has not been reached (`newest` has), or of another job than `job`, where both are
/// known, is of a job that ran here before, and 0 is taken for it. Throws InvalidArgument for a
/// query that is none.
FollowQuery ParseFollowQuery(std::string_view query, std::string_view job, std::uint64_t newest);

}  // namespace weir
