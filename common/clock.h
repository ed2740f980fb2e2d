#pragma once

#include <cstdint>
#include <ctime>

namespace weir {

/// Nanoseconds of CLOCK_MONOTONIC: the one clock of records, deadlines and time-outs. A call takes
/// about 20 ns; thread-safe. The same for all processes of a host, unrelated between hosts.
inline std::int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Time of the wall clock at the moment when NowNs() was 0, in nanoseconds since 1970. It lines
/// hosts up as well as their wall clocks agree.
inline std::int64_t UnixTimeAtZeroNs() {
  timespec wall{};
  clock_gettime(CLOCK_REALTIME, &wall);
  return std::int64_t{wall.tv_sec} * 1'000'000'000 + wall.tv_nsec - NowNs();
}

/// The clock of a job is rank 0's. This is how the clock of this rank (NowNs) compared with it when
/// the job began, and what rank 0 told about it.
struct JobClock {
  std::int64_t offset_ns = 0;          ///< Add it to the rank's times to get rank 0's.
  std::int64_t error_ns = 0;           ///< Bound on the error of offset_ns at that moment.
  std::int64_t began_ns = 0;           ///< Start of the job, by rank 0's clock.
  std::int64_t unix_time_at_0_ns = 0;  ///< UnixTimeAtZeroNs of rank 0.
};

}  // namespace weir
