#include "metrics/run_info.h"

#include <fmt/core.h>

#include <cstdlib>

namespace weir {

std::string JobId(const RunInfo& info) {
  if (!info.clock) return "";
  return fmt::format("{:x}", info.clock->unix_time_at_0_ns + info.clock->began_ns);
}

std::int64_t JobTimeAtZeroNs(const RunInfo& info) {
  if (!info.clock) return UnixTimeAtZeroNs();
  const auto& [offset_ns, error_ns, began_ns, unix_time_at_0_ns] = *info.clock;
  // A clock that may be rank 0's own is: that of another host comes so near by chance only.
  const bool is_rank_0s = std::abs(offset_ns) <= error_ns;
  return is_rank_0s ? unix_time_at_0_ns : unix_time_at_0_ns + offset_ns;
}

}  // namespace weir
