#pragma once

#include <algorithm>
#include <cstdint>

#include "weir/settings.h"

namespace weir {

inline std::int64_t Nanoseconds(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

/// How long something may stand still: until it is first reported, and until it ends the job.
struct StallLimits {
  explicit StallLimits(const Settings& settings)
      // Before a deadline ends the job somebody has to be told who keeps it waiting.
      : warning_ns(
            Nanoseconds(std::min(settings.stall_warning_seconds, settings.timeout_seconds / 2))),
        shutdown_ns(Nanoseconds(settings.stall_shutdown_seconds)) {}

  std::int64_t warning_ns;
  std::int64_t shutdown_ns;  ///< 0: never.
};

}  // namespace weir
