#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "common/clock.h"
#include "ops/pending.h"
#include "ops/transport.h"

namespace weir {

/// Measures how each rank's clock stands to rank 0's, as NTP does (RFC 5905, section 8): the rank
/// sends a message, rank 0 answers with when it came and when the answer left, and half of what the
/// way there took longer than the way back, as far as the two clocks tell, is the offset. How long
/// each way really took nobody knows; but both together did not take longer than the round trip, so
/// the error is at most half of that, and of several round trips the shortest counts. The answer
/// also says what rank 0's wall clock was and when the job began: the same for all ranks.
///
/// Never blocks. Network thread only.
class ClockExchange {
 public:
  static constexpr int kTrips = 8;

  /// `operation`: the messages' number. All ranks of the transport take part.
  ClockExchange(Transport& transport, std::uint32_t operation,
                std::function<std::int64_t()> clock = NowNs);

  void Start();
  /// Makes progress. True once this rank has nothing left to do. Throws what the transport throws,
  /// and Corrupt.
  bool Poll();
  void Cancel();
  bool done() const { return done_; }
  /// Once it is done; on rank 0, which has nothing to find out, once it has started.
  const JobClock& job_clock() const { return job_clock_; }

 private:
  /// A pong, as it travels: little-endian words.
  struct Times {
    std::int64_t arrived_ns = 0;  ///< The ping, by rank 0's clock.
    std::int64_t leaves_ns = 0;   ///< The pong.
    std::int64_t began_ns = 0;
    std::int64_t unix_time_at_0_ns = 0;
  };
  /// What rank 0 knows of another one.
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
  std::vector<Peer> peers_;  ///< On rank 0: of rank 1, 2, ...

  // On other ranks.
  Pending ping_;
  Pending pong_;
  bool answered_ = false;
  Times times_{};
  std::int64_t sent_ns_ = 0;
  int trips_ = 0;
};

}  // namespace weir
