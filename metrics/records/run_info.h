#pragma once

#include <optional>
#include <string>

#include "common/clock.h"

namespace weir {

/// The rank and job that are measured.
struct RunInfo {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  std::string host{};
  std::string hosts{};              ///< All of the job, "a:2,b:1"; empty: unknown.
  std::optional<JobClock> clock{};  ///< Empty: not measured in time.
  std::string network{};            ///< What carries messages between ranks; empty: unknown.
};

/// Identifies the job, the same on all its ranks. Empty: not known.
std::string JobId(const RunInfo& info);

/// Time of the job's wall clock, rank 0's, at which this rank's NowNs() was 0, in nanoseconds since
/// 1970; by the rank's own wall clock where it does not know the job's.
std::int64_t JobTimeAtZeroNs(const RunInfo& info);

}  // namespace weir
