#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace weir {

/// Decides how the network thread waits; nothing else does.
///
/// With nothing outstanding, the thread sleeps until it is woken. While a round or an exchange is
/// outstanding it must poll, because MPI cannot wake it. It yields while something moves and cores
/// are free. It naps if nothing has moved for 0.2 ms, and for 20 ms after a yield of more than a
/// millisecond, which shows that others need the core. A nap takes a tenth of the time for which
/// nothing has moved, from 50 us to 4 ms; for data that have moved within 10 ms at most 0.2 ms.
/// Naps of doubling length would be a trap: when one rank naps all others do, and each round costs
/// milliseconds.
///
/// Wake is thread-safe; the rest belongs to the network thread.
class NetworkWaiter {
 public:
  /// Ends the current or the next wait.
  void Wake();

  /// Sleeps until Wake, or until `until_ns` (CLOCK_MONOTONIC; 0: for ever).
  void Sleep(std::int64_t until_ns);

  /// Tells that something has moved. So does the end of a sleep, as what comes after it is new.
  void Moved(std::int64_t now_ns) { moved_ns_ = now_ns; }

  enum class For { kRound, kData };
  /// Pauses briefly between two polls.
  void Pause(For what, std::int64_t now_ns);
  /// Returns how long the next Pause naps; 0: it yields.
  std::int64_t NapNs(For what, std::int64_t now_ns) const;

 private:
  void SleepFor(std::chrono::nanoseconds duration);

  std::mutex mutex_;
  std::condition_variable woken_;
  bool wake_ = false;
  std::int64_t moved_ns_ = 0;
  std::int64_t crowded_until_ns_ = 0;
};

}  // namespace weir
