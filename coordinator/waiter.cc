#include "coordinator/waiter.h"

#include <sched.h>

#include <algorithm>

#include "common/clock.h"

namespace weir {
namespace {

constexpr std::int64_t kSlowYieldNs = 300'000;
constexpr std::int64_t kCrowdedNs = 20'000'000;
constexpr std::int64_t kShortestNapNs = 50'000;
constexpr std::int64_t kLongestNapNs = 200'000;
// Something that has been outstanding this long will not end within a yield: a peer is late.
constexpr std::int64_t kPatientNs = 10'000'000;
constexpr std::int64_t kLatestNapNs = 4'000'000;

}  // namespace

void Waiter::Wake() {
  {
    std::lock_guard lock(mutex_);
    wake_ = true;
  }
  woken_.notify_one();
}

void Waiter::Sleep(std::int64_t until_ns) {
  if (until_ns != 0) {
    SleepFor(std::chrono::nanoseconds(std::max<std::int64_t>(until_ns - NowNs(), 0)));
    return;
  }
  std::unique_lock lock(mutex_);
  woken_.wait(lock, [&] { return wake_; });
  wake_ = false;
}

void Waiter::SleepFor(std::chrono::nanoseconds duration) {
  std::unique_lock lock(mutex_);
  woken_.wait_for(lock, duration, [&] { return wake_; });
  wake_ = false;
}

void Waiter::Pause(std::int64_t now_ns, std::int64_t since_ns) {
  const std::int64_t age = now_ns - since_ns;
  if (age > kPatientNs) {
    SleepFor(std::chrono::nanoseconds(std::clamp(age / 10, kLongestNapNs, kLatestNapNs)));
    return;
  }
  if (now_ns < crowded_until_ns_) {
    SleepFor(std::chrono::nanoseconds(std::clamp(age / 10, kShortestNapNs, kLongestNapNs)));
    return;
  }
  sched_yield();
  const std::int64_t after = NowNs();
  if (after - now_ns > kSlowYieldNs) crowded_until_ns_ = after + kCrowdedNs;
}

}  // namespace weir
