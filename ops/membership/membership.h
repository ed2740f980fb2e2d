#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace weir {

/// News about other ranks that arrives outside the data network.
struct MembershipEvent {
  enum class Kind {
    kPeerLost,       ///< A rank's process ended without leaving: `rank`, `text` says how ("signal 9
                     ///< (Killed)").
    kAbort,          ///< Rank `rank` ended the job; `text` is the reason.
    kStatusRequest,  ///< Rank 0 asks for this rank's current work; answer with SendStatus.
    kStatus,         ///< Rank 0 only: the status text of `rank`.
    kLauncherLost,   ///< The launcher has ended; nobody reports deaths any more.
    kHostsUpdated,   ///< Ranks wait to come in, or should go, once the program lets them.
    kRecordFlight,   ///< Somebody wants a flight recording of every rank, for the `number`-th time.
  };
  Kind kind = Kind::kAbort;
  int rank = -1;
  std::string host;
  std::string text;
  int number = 0;
};

/// The channel beside the network: heartbeats, deaths, status. Death is never detected through MPI
/// (docs/explanation/membership.md). Implementations: the supervisor that weirrun started, the hub
/// of a local job, none.
///
/// Thread-safe. A thread of the implementation calls the listener, which must not block. It is not
/// called any more once Listen(nullptr) has returned.
class Membership {
 public:
  using Listener = std::function<void(const MembershipEvent&)>;

  virtual ~Membership() = default;

  virtual void Listen(Listener listener) = 0;
  /// Reports that this rank has met all others: nobody has to wait for it any more.
  virtual void Joined() = 0;
  /// Tells every other rank that this one ends the job, and why. Idempotent.
  virtual void Abort(const std::string& reason) = 0;
  /// Asks every rank (this one too) for a status; answers reach rank 0 as kStatus.
  virtual void RequestStatus() = 0;
  /// Sends this rank's status to rank 0. At most 64 KiB, longer text is cut.
  virtual void SendStatus(const std::string& text) = 0;
  /// Tells the launcher the totals of this rank's steps so far (common/supervision/rank_totals.h).
  /// The last one counts, and may follow Leave. At most 64 KiB.
  virtual void SendTotals(const std::string& text) { static_cast<void>(text); }
  /// Reports that this rank has stood still for long, and the ranks that it does not hear, of those
  /// that stand still as well. Nothing: it moves again.
  virtual void SendUnheard(const std::optional<std::vector<int>>& ranks) {
    static_cast<void>(ranks);
  }
  /// Reports that the network has lost these ranks, of whose end nobody has told. Before Abort.
  virtual void SendNetworkLost(const std::vector<int>& ranks) { static_cast<void>(ranks); }
  /// Reports that this rank has what others need that come to an elastic job.
  virtual void SendReady() {}
  /// Reports that this rank leaves in good order, so that its end does not count as a loss.
  virtual void Leave() = 0;
};

}  // namespace weir
