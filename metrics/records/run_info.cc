#include "metrics/records/run_info.h"

#include <fmt/core.h>

#include <cstdlib>

namespace weir {

std::string JobId(const RunInfo& info) {
  if (!info.clock) return "";
  return fmt::format("{:x}", info.clock->unix_time_at_0_ns + info.clock->began_ns);
}

std::int64_t JobTimeAtZeroNs(const RunInfo& info) {
  if (!info.clock) return UnixTimeAtZeroNs();
  const JobClock& clock = *info.clock;
  // A clock that may be rank 0's own is: another host's comes so near only by chance.
  const bool is_rank_0s = std::abs(clock.offset_ns) <= clock.error_ns;
  return clock.unix_time_at_0_ns + (is_rank_0s ? 0 : clock.offset_ns);
}

}  // namespace weir
