#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/supervision/place.h"
#include "common/supervision/supervision.h"
#include "common/unique_fd.h"
#include "ops/membership/membership.h"
#include "ops/rendezvous/rendezvous.h"

namespace weir {

/// The engine's end of the socket to the supervisor that weirrun started
/// (common/supervision/supervision.h). Ranks also meet by it.
///
/// One at a time in a process; a new one may follow a destroyed one. Events that arrive before
/// somebody listens wait. In a forked child every call does nothing. Thread-safe, but a
/// listener must not call Listen.
class SupervisorMembership : public Membership, public Rendezvous {
 public:
  /// Returns the membership of this process over SupervisorSocket(), which may throw; null if there
  /// is none.
  static std::unique_ptr<SupervisorMembership> FromEnvironment();

  /// Uses `socket`, a connected Unix packet socket, and keeps `relay`, which carries its messages
  /// on, until the socket is closed. Throws InvalidArgument when the process is out of descriptors.
  explicit SupervisorMembership(UniqueFd socket, std::shared_ptr<void> relay = nullptr);
  ~SupervisorMembership() override;

  void Listen(Listener listener) override;
  void Joined() override;
  void Abort(const std::string& reason) override;
  void RequestStatus() override;
  void SendStatus(const std::string& text) override;
  void SendTotals(const std::string& text) override;
  void SendUnheard(const std::optional<std::vector<int>>& ranks) override;
  void SendNetworkLost(const std::vector<int>& ranks) override;
  void SendReady() override;
  void Leave() override;

  Meeting Meet(const std::string& address, std::chrono::milliseconds timeout) override;

  /// Waits until weirrun has dealt this rank a place, which takes until all that are left have
  /// come. weirrun has the deadlines. What was said before concerns ranks that are past. Throws
  /// PeerLost when weirrun is gone.
  supervision::Place AwaitPlace();

 private:
  using Clock = std::chrono::steady_clock;

  void Run();
  /// Says that this process is alive, once a second. Returns when to do so next.
  Clock::time_point Pulse(Clock::time_point due);
  /// Tells the listener what came before it.
  void TellKept();
  /// Reads one packet. False when there will be no more.
  bool Receive();
  // With mutex_ held.
  void OnMessage(const supervision::Message& message);
  void OnAddresses(const supervision::Message& message);
  void OnPlace(const supervision::Message& message);
  /// Tells the listener, or keeps the event for the next one.
  void Tell(const MembershipEvent& event);
  /// Throws PeerLost if an event has ended the meeting.
  void ThrowIfOver() const;

  void SendRanks(int code, const std::vector<int>& ranks);
  void Send(supervision::MessageType type, const std::string& text = {});
  void Wake();
  bool in_child() const;

  const pid_t owner_;
  std::unique_ptr<std::shared_ptr<void>> relay_;  // Before the socket, whose end it waits for.
  UniqueFd socket_;
  UniqueFd wake_;  // eventfd: the listener was set, or this is being destroyed.
  std::mutex mutex_;
  Listener listener_;                        // Guarded by mutex_, which is held while it is called.
  std::vector<MembershipEvent> kept_;        // Guarded by mutex_: nobody has listened yet.
  std::optional<supervision::Place> place_;  // Guarded by mutex_: the last one that came.
  std::optional<Meeting> meeting_;           // Guarded by mutex_: while in Meet.
  std::size_t expected_ = 0;                 // Guarded by mutex_: ranks of the meeting, once known.
  std::condition_variable met_;
  std::atomic<bool> joining_{true};   // Neither Joined nor Leave was called.
  std::atomic<bool> reading_{false};  // Somebody listens or meets.
  std::atomic<bool> stopping_{false};
  std::atomic<bool> aborted_{false};
  std::string packet_;  // Used by the thread.
  std::jthread thread_;
};

}  // namespace weir
