#pragma once

#include <cstdint>
#include <ctime>

namespace weir {

/// Nanoseconds of CLOCK_MONOTONIC: the one clock of records, deadlines and time-outs. About 20 ns a
/// call; thread-safe; the same on all processes of a host, unrelated between hosts.
inline std::int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace weir
