#include "coordinator/work/network_waiter.h"

#include <sched.h>

#include <algorithm>

#include "common/clock.h"

namespace weir {
namespace {

// A stranger that computes keeps the core for a slice of some milliseconds; another rank's network
// thread for the copying of a chunk, which is none of our business.
constexpr std::int64_t kSlowYieldNs = 1'000'000;
constexpr std::int64_t kCrowdedNs = 20'000'000;
constexpr std::int64_t kShortestNapNs = 50'000;
constexpr std::int64_t kLongestNapNs = 4'000'000;
// What has not moved for this long waits for a network, or for a peer that is late, and not for a
// copy on another core: it will not move within a yield.
constexpr std::int64_t kStillNs = 200'000;
// Data that are under way move on only while both ends poll, and deserve more patience than a
// round.
constexpr std::int64_t kDataPatienceNs = 10'000'000;
constexpr std::int64_t kLongestPatientNapNs = 200'000;

}  // namespace

void NetworkWaiter::Wake() {
  {
    std::lock_guard lock(mutex_);
    wake_ = true;
  }
  woken_.notify_one();
}

void NetworkWaiter::Sleep(std::int64_t until_ns) {
  if (until_ns != 0) {
    SleepFor(std::chrono::nanoseconds(std::max<std::int64_t>(until_ns - NowNs(), 0)));
  } else {
    std::unique_lock lock(mutex_);
    woken_.wait(lock, [&] { return wake_; });
    wake_ = false;
  }
  Moved(NowNs());
}

void NetworkWaiter::SleepFor(std::chrono::nanoseconds duration) {
  std::unique_lock lock(mutex_);
  woken_.wait_for(lock, duration, [&] { return wake_; });
  wake_ = false;
}

std::int64_t NetworkWaiter::NapNs(For what, std::int64_t now_ns) const {
  const std::int64_t age = now_ns - moved_ns_;
  if (age <= kStillNs && now_ns >= crowded_until_ns_) return 0;
  const bool is_patient = what == For::kData && age <= kDataPatienceNs;
  return std::clamp(age / 10, kShortestNapNs, is_patient ? kLongestPatientNapNs : kLongestNapNs);
}

void NetworkWaiter::Pause(For what, std::int64_t now_ns) {
  const std::int64_t nap = NapNs(what, now_ns);
  if (nap != 0) return SleepFor(std::chrono::nanoseconds(nap));
  sched_yield();
  const std::int64_t after = NowNs();
  if (after - now_ns > kSlowYieldNs) crowded_until_ns_ = after + kCrowdedNs;
}

}  // namespace weir
