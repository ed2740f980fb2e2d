#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/supervision/message_socket.h"
#include "common/supervision/proof.h"
#include "common/supervision/turned_away.h"
#include "common/unique_fd.h"

namespace weir::supervision {

/// Keeps connections that a service of the job has taken until they have proven that they know the
/// token (proof.h), and lets in those that have. Turns away who does not, who has not within 10 s,
/// and the oldest, where more wait than may or the process is out of descriptors. Never blocks. Not
/// thread-safe.
class Doorkeeper {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Who has proven, and has been given the proof of this end.
  struct Guest {
    Message hello;  ///< A kHello or kOutputHello of this version.
    MessageSocket socket;
  };

  /// At most `most` connections wait. `tell` tells people of those that are turned away.
  Doorkeeper(Secret secret, std::size_t most, TurnedAway::Tell tell);

  /// Takes some of the connections that wait at a listener. Returns 0, or errno where it was
  /// refused one; EAGAIN is no error.
  int Accept(const UniqueFd& listener, Time now);
  /// Appends what to poll, one for each that waits.
  void AddPolls(std::vector<pollfd>& fds) const;
  /// Goes on with those that have said something; `polled` is what AddPolls has appended, in a
  /// state since which nothing else was called.
  std::vector<Guest> Introduce(std::span<const pollfd> polled, Time now);
  /// Turns away who has had its time. Call once a second or so.
  void Tick(Time now);
  /// Tells how many were turned away in all, unless that is known. Call at the end.
  void SumUp() { turned_away_.SumUp(); }

  std::uint64_t turned_away() const { return turned_away_.count(); }

 private:
  struct Stranger {
    MessageSocket socket;
    std::string from;
    Time since;
    std::optional<Message> hello{};  ///< Which has been answered with `challenge`.
    Message challenge{};
  };
  enum class Verdict { kWaits, kKnown, kGone };

  Verdict Hear(Stranger& stranger, Time now);
  Verdict OnHello(Stranger& stranger, const Message& hello, Time now);
  Verdict OnProof(Stranger& stranger, const Message& proof, Time now);
  Verdict TurnAway(const Stranger& stranger, const std::string& why, Time now);
  void MakeRoom(Time now);

  const Secret secret_;
  const std::size_t most_;
  TurnedAway turned_away_;
  std::vector<Stranger> strangers_;  ///< Oldest first.
};

}  // namespace weir::supervision
