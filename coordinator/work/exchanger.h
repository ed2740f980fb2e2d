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

/// What is told of exchanges: the network, whose messages start; how much payload is under way; how
/// fast it goes. Any of them may be null; without a network there is no speed.
struct ExchangeMeter {
  MeteredTransport* network = nullptr;
  std::function<MeteredTransport::Use(const Bucket&)> use_of;
  std::atomic<std::int64_t>* under_way_bytes = nullptr;  ///< Payload; kept as long as it is.
  NetworkSpeed* speed = nullptr;                         ///< Of the network.
  /// Read when an exchange starts and ends: by the time of the poll, what starts and ends within
  /// one would have taken no time at all.
  std::function<std::int64_t()> clock = NowNs;
};

/// The exchanges of a rank: starts what all ranks agreed on, in the agreed order, a bounded number
/// of buckets at a time, and moves them forward. Every rank starts in the same order, so the bound
/// cannot lock ranks up against each other: a bucket with several exchanges keeps its place, and
/// the numbers of all its messages, from its first one to its last. Network thread only.
class Exchanger {
 public:
  /// `finished` is called when an exchange of a run is complete.
  Exchanger(std::size_t most_at_once, std::function<void(LiveRun&)> finished,
            ExchangeMeter meter = {});

  /// Next in the agreed order; starts once the run is staged, as do its further exchanges.
  void Enqueue(LiveRun& run);

  /// True when anything moved on. Throws what a collective throws.
  bool Poll(std::int64_t now_ns);

  /// Whether anything is on the network.
  bool under_way() const;
  /// Runs that wait for their turn, or for their stages before it.
  std::size_t queued() const { return queue_.size(); }
  /// Gives everything up; no buffer is touched once this returns.
  void Cancel();

 private:
  struct Active {
    LiveRun* run;
    std::ptrdiff_t exchanges_left;  ///< The one under way, or about to be, counted.
    std::uint32_t next_number;
    Collective* collective = nullptr;  ///< Of the exchange under way, if one is.
    MeteredTransport::Use use{};       ///< Of its messages.
    std::int64_t bytes = 0;            ///< Of its payload.
  };
  bool StartNext(std::int64_t now_ns);
  // Of the entry at `index`, which is gone once its last exchange has finished.
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
