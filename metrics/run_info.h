#pragma once

#include <optional>
#include <string>

#include "common/clock.h"

namespace weir {

/// Who is being measured.
struct RunInfo {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  std::string host{};
  std::string hosts{};              ///< Of the whole job, "a:2,b:1"; empty: nobody has told.
  std::optional<JobClock> clock{};  ///< Nothing: it was not measured in time.
};

/// Tells the job from every other one, the same on all its ranks. Empty: not known.
std::string JobId(const RunInfo& info);

/// What the job's wall clock, rank 0's, said when this rank's NowNs() was 0, in nanoseconds since
/// 1970; by the rank's own wall clock where it does not know the job's.
std::int64_t JobTimeAtZeroNs(const RunInfo& info);

}  // namespace weir
