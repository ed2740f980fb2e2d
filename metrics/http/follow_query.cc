#include "metrics/http/follow_query.h"

#include "metrics/http/long_poll.h"
#include "metrics/http/query.h"

namespace weir {

FollowQuery ParseFollowQuery(std::string_view query, std::string_view job, std::uint64_t newest) {
  const std::uint64_t after = QueryNumber(query, "after", 0);
  const std::uint64_t wait =
      QueryNumber(query, "wait", 0, static_cast<std::uint64_t>(LongPoll::kLongest.count()));
  const std::string_view asked = QueryValue(query, "job");
  const bool of_another = !asked.empty() && !job.empty() && asked != job;
  return {.after = of_another || after > newest ? 0 : after, .wait = std::chrono::seconds(wait)};
}

}  // namespace weir
