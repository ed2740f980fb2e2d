#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace weir {

/// How the network thread waits: the one place where this is decided.
///
/// With nothing outstanding it sleeps until it is woken. While a round or an exchange is
/// outstanding it must poll, because MPI cannot wake it: it yields while cores are free; once a
/// yield has taken longer than a millisecond others need the core, and it naps 50 to 200 us for the
/// next 20 ms. A doubling ladder of naps would be a trap: when one rank naps all others do, and
/// each round costs milliseconds. What has not moved for long (a late peer) is polled ever more
/// rarely, every tenth of its age up to 4 ms: for a round "long" is 0.3 ms, for data 10 ms.
///
/// Wake is thread-safe; the rest belongs to the network thread.
class Waiter {
 public:
  /// Ends the current or the next wait.
  void Wake();

  /// Sleeps until Wake, or until `until_ns` (CLOCK_MONOTONIC; 0: for ever).
  void Sleep(std::int64_t until_ns);

  enum class For { kRound, kData };
  /// A short pause between two polls of something that has not moved since `since_ns`.
  void Pause(For what, std::int64_t now_ns, std::int64_t since_ns);

 private:
  void SleepFor(std::chrono::nanoseconds duration);

  std::mutex mutex_;
  std::condition_variable woken_;
  bool wake_ = false;
  std::int64_t crowded_until_ns_ = 0;
};

}  // namespace weir
