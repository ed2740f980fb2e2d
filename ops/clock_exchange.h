#pragma once

#include <array>
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
/// the error is at most half of that, and of several round trips the shortest counts.
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
  /// Once it is done. On rank 0 both are 0.
  const ClockOffset& offset() const { return offset_; }

 private:
  /// What rank 0 knows of another one.
  struct Peer {
    Pending ping;
    Pending pong;
    std::array<std::int64_t, 2> times{};  ///< When the ping came, and when the pong leaves.
    int trips = 0;
  };
  bool Serve(int rank, Peer& peer);
  void BeginTrip();
  void EndTrip(std::int64_t now_ns);

  Transport& transport_;
  const Tag tag_;
  const std::function<std::int64_t()> clock_;
  bool done_ = false;
  ClockOffset offset_;
  std::vector<Peer> peers_;  ///< On rank 0: of rank 1, 2, ...

  // On other ranks.
  Pending ping_;
  Pending pong_;
  bool answered_ = false;
  std::array<std::int64_t, 2> times_{};
  std::int64_t sent_ns_ = 0;
  int trips_ = 0;
};

}  // namespace weir
