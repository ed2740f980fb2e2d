#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "common/clock.h"
#include "coordinator/work/live_runs.h"
#include "coordinator/work/network_speed.h"
#include "ops/transport/metered_transport.h"

namespace weir {

/// Observers of exchanges: the network, which learns the use of messages that start; the payload
/// under way; the network's speed. Any of them may be null. `speed` requires `network`.
struct ExchangeMeter {
  MeteredTransport* network = nullptr;
  std::function<MeteredTransport::Use(const Bucket&)> use_of;
  std::atomic<std::int64_t>* under_way_bytes = nullptr;  ///< Payload under way now.
  NetworkSpeed* speed = nullptr;                         ///< Speed of the network.
  /// Clock, read when an exchange starts and ends. By the time of the poll, an exchange that starts
  /// and ends within one poll would have taken no time at all.
  std::function<std::int64_t()> clock = NowNs;
};

/// Runs the exchanges of a process set: starts what all its ranks agreed on, in the agreed order, a
/// bounded number of buckets at a time, and moves it forward. Every rank starts in the same order,
/// so the bound cannot make ranks block each other: a bucket with several exchanges keeps its
/// place, and the numbers of all its messages, from its first one to its last. Network thread only.
class Exchanger {
 public:
  /// Calls `finished` when an exchange of a run is complete.
  Exchanger(std::size_t most_at_once, std::function<void(LiveRun&)> finished,
            ExchangeMeter meter = {});

  /// Adds the next run in the agreed order. Each of its exchanges starts once the run is staged.
  void Enqueue(LiveRun& run);

  /// True if anything moved forward. Throws what a collective throws.
  bool Poll(std::int64_t now_ns);

  /// True if anything is on the network.
  bool under_way() const;
  /// Returns the number of runs that wait for their turn, or for their stages before it.
  std::size_t queued() const { return queue_.size(); }
  /// Gives everything up. No buffer is touched once this returns.
  void Cancel();

 private:
  struct Active {
    LiveRun* run;
    std::ptrdiff_t exchanges_left;  ///< Includes the one under way or about to be.
    std::uint32_t next_number;
    Collective* collective = nullptr;  ///< Collective under way, if any.
    MeteredTransport::Use use{};       ///< Use of its messages.
    std::int64_t bytes = 0;            ///< Bytes of its payload.
  };
  bool StartNext(std::int64_t now_ns);
  // Polls the entry at `index`, which is gone once its last exchange has finished.
  bool PollActive(std::size_t index, std::int64_t now_ns);
  void Start(std::size_t index, std::int64_t now_ns);
  void Finish(std::size_t index);
  void Count(const Active& active);
  void CountPayload(Active& active, std::int64_t bytes);

  const std::size_t most_at_once_;
  const std::function<void(LiveRun&)> finished_;
  const ExchangeMeter meter_;
  std::deque<LiveRun*> queue_;
  std::vector<Active> active_;
  std::uint32_t next_number_ = 0;
};

}  // namespace weir
