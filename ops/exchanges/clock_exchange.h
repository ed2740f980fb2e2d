#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "common/clock.h"
#include "ops/transport/pending.h"
#include "ops/transport/transport.h"

namespace weir {

/// Compares each rank's clock with rank 0's, as NTP does (RFC 5905, section 8). The rank sends a
/// message, and rank 0 answers with the times of its arrival and of the answer's departure. The
/// offset is half the difference of the two ways, as measured by the two clocks. The true time of
/// each way is unknown, but together they take no longer than the round trip. So the error is at
/// most half of that, and the shortest of several round trips counts. The answer also tells rank
/// 0's wall clock and the start of the job: the same for all ranks.
///
/// Never blocks. Network thread only.
class ClockExchange {
 public:
  static constexpr int kTrips = 8;

  /// `operation` is the messages' number. All ranks of the transport take part.
  ClockExchange(Transport& transport, std::uint32_t operation,
                std::function<std::int64_t()> clock = NowNs);

  void Start();
  /// Makes progress. True once this rank has nothing left to do. Throws the
  /// transport's errors and Corrupt.
  bool Poll();
  void Cancel();
  bool done() const { return done_; }
  /// Valid once it is done; on rank 0, which has nothing to measure, once it has started.
  const JobClock& job_clock() const { return job_clock_; }

 private:
  /// A pong as it is sent: little-endian words.
  struct Times {
    std::int64_t arrived_ns = 0;  ///< Arrival of the ping, by rank 0's clock.
    std::int64_t leaves_ns = 0;   ///< Departure of the pong.
    std::int64_t began_ns = 0;
    std::int64_t unix_time_at_0_ns = 0;
  };
  /// Rank 0's state for another rank.
  struct Peer {
    Pending ping;
    Pending pong;
    Times times{};
    int trips = 0;
  };
  bool Serve(int rank, Peer& peer);
  void BeginTrip();
  void EndTrip(std::int64_t now_ns);

  Transport& transport_;
  const Tag tag_;
  const std::function<std::int64_t()> clock_;
  bool done_ = false;
  JobClock job_clock_;
  std::vector<Peer> peers_;  ///< On rank 0: for rank 1, 2, ...

  // On other ranks.
  Pending ping_;
  Pending pong_;
  bool answered_ = false;
  Times times_{};
  std::int64_t sent_ns_ = 0;
  int trips_ = 0;
};

}  // namespace weir
