#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "ops/transport/transport.h"

namespace weir::bench {

/// A network in virtual time, all of whose ranks are in this process: thousands of them, one
/// thread.
class VirtualNetwork {
 public:
  /// What things take.
  struct Costs {
    std::int64_t message_ns = 20'000;  ///< From the sender to the receiver, without bytes.
    double bytes_per_ns = 1.0;
    std::int64_t work_ns = 1'000;  ///< Of a rank that sends or takes in a message.
  };
  VirtualNetwork(int ranks, const Costs& costs);
  ~VirtualNetwork();

  /// Returns a rank's transport, which lives as long as this.
  Transport& operator[](int rank);

  /// Wakes a rank at a time.
  void WakeAt(int rank, std::int64_t time_ns) { events_.push({time_ns, rank}); }
  /// Goes on to the next event. Returns the rank that is to poll; its clock is at `now_ns`. -1:
  /// nothing happens any more.
  int Next(std::int64_t& now_ns);
  std::int64_t now_ns(int rank) const;
  /// Returns what a rank has sent and received.
  NetworkTotals totals(int rank) const;

 private:
  class Endpoint;
  using Event = std::pair<std::int64_t, int>;

  const Costs costs_;
  std::vector<std::unique_ptr<Endpoint>> ranks_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

}  // namespace weir::bench
