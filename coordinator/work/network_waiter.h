#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace weir {

/// Decides how the network thread waits; nothing else does.
///
/// With nothing outstanding, the thread sleeps until it is woken. While a round or an exchange is
/// outstanding it must poll, because MPI cannot wake it. It yields while cores are free; a yield of
/// more than a millisecond shows that others need the core, and then it naps 50 to 200 us at a time
/// for the next 20 ms. Naps of doubling length would be a trap: when one rank naps all others do,
/// and each round costs milliseconds. If nothing has moved for long (a peer is late), it polls ever
/// more rarely, every tenth of that time up to 4 ms: for a round "long" is 0.3 ms, for data 10 ms.
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
