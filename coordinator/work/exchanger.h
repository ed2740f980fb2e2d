#pragma once

#include <array>
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
///
/// The first one under way sends as it can. Those behind it fill the network only where it does
/// not: they post no more to send while the ones before them have a credit of bytes posted. So
/// buckets do not all come to their ends together, when results are waited for and the network
/// rests.
///
/// A bucket that overtakes (Bucket::overtakes) starts at once, beyond the bound, if it is more
/// urgent than all others of the kind that are under way or agreed on before it, and goes before
/// them. Ranks cannot block each other by that either: the most urgent bucket that all have agreed
/// on runs on every rank as soon as it is staged. The two kinds have a credit each.
class Exchanger {
 public:
  struct Bounds {
    std::size_t at_once = 1;       ///< Buckets under way, but for those that overtake.
    std::size_t credit_bytes = 0;  ///< Behind so many posted bytes no other bucket posts more.
  };

  /// Calls `finished` when an exchange of a run is complete.
  Exchanger(Bounds bounds, std::function<void(LiveRun&)> finished, ExchangeMeter meter = {});

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
  struct Queued {
    LiveRun* run;
    std::uint32_t exchanges;
    std::uint64_t
        place;  ///< Of its first exchange, in the agreed order of all that overtake, or do not.
  };
  struct Active {
    LiveRun* run;
    std::uint32_t exchanges_left;      ///< Includes the one under way or about to be.
    std::uint64_t next_place;          ///< Of that one.
    Collective* collective = nullptr;  ///< Collective under way, if any.
    MeteredTransport::Use use{};       ///< Use of its messages.
    std::int64_t bytes = 0;            ///< Bytes of its payload.
  };
  bool StartNext(std::int64_t now_ns);
  /// Returns the next one that may start, or the queue's end.
  std::deque<Queued>::iterator FindNext();
  /// True if the run's numbers are free: of those that overtake, an old one may be under way.
  bool HasNumbers(const Queued& queued) const;
  /// Tells each one under way how much it may have posted. What is posted has mostly left the
  /// collective, into the transport's own queue, and cannot be overtaken.
  void ShareCredit();
  // Polls the entry at `index`, which is gone once its last exchange has finished.
  bool PollActive(std::size_t index, std::int64_t now_ns);
  void Start(std::size_t index, std::int64_t now_ns);
  void Finish(std::size_t index);
  void Count(const Active& active);
  void CountPayload(Active& active, std::int64_t bytes);

  const Bounds bounds_;
  const std::function<void(LiveRun&)> finished_;
  const ExchangeMeter meter_;
  std::deque<Queued> queue_;
  std::size_t queued_overtaking_ = 0;  ///< So many of them may overtake.
  std::vector<Active> active_;  ///< In turn; of those that overtake the most urgent one first.
  std::array<std::uint64_t, 2>
      next_place_{};  ///< Of runs that do not overtake, and of those that do.
};

}  // namespace weir
