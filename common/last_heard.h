#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#include <memory>

namespace weir {

/// Time at which data from each peer last arrived, by the wall clock, within a few milliseconds.
/// SetPeers is called first; then one thread notes and any thread reads.
class LastHeard {
 public:
  void SetPeers(int peers) {
    times_ns_ = std::make_unique<std::atomic<std::int64_t>[]>(static_cast<std::size_t>(peers));
    peers_ = peers;
  }
  int peers() const { return peers_; }

  void Note(int peer) {
    timespec now{};
    // A tenth of the price of the exact clock, for each message.
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    At(peer).store(std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec,
                   std::memory_order_relaxed);
  }
  /// Seconds since 1970; 0: never.
  double Seconds(int peer) const {
    return static_cast<double>(At(peer).load(std::memory_order_relaxed)) * 1e-9;
  }

 private:
  std::atomic<std::int64_t>& At(int peer) const {
    return times_ns_[static_cast<std::size_t>(peer)];
  }

  std::unique_ptr<std::atomic<std::int64_t>[]> times_ns_;
  int peers_ = 0;
};

}  // namespace weir
