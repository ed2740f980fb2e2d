#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "common/supervision/supervision.h"
#include "common/unique_fd.h"
#include "ops/membership/membership.h"

namespace weir {

/// The engine's end of the socket to the supervisor that weirrun started
/// (common/supervision/supervision.h).
///
/// One at a time in a process; a new one may follow a destroyed one. Events that arrive before
/// somebody listens wait. In a forked child every call does nothing. Thread-safe, but a
/// listener must not call Listen.
class SupervisorMembership : public Membership {
 public:
  /// Returns the membership of this process over SupervisorSocket(), which may throw; a
  /// NoMembership if there is none.
  static std::unique_ptr<Membership> FromEnvironment();

  /// Uses `socket`, a connected Unix packet socket. Throws InvalidArgument when the
  /// process is out of descriptors.
  explicit SupervisorMembership(UniqueFd socket);
  ~SupervisorMembership() override;

  void Listen(Listener listener) override;
  void Joined() override;
  void Abort(const std::string& reason) override;
  void RequestStatus() override;
  void SendStatus(const std::string& text) override;
  void SendTotals(const std::string& text) override;
  void Leave() override;

 private:
  void Run();
  /// Reads one packet and tells the listener. False when there will be no more.
  bool Receive();
  void Send(supervision::MessageType type, const std::string& text = {});
  void Wake();
  bool in_child() const;

  const pid_t owner_;
  UniqueFd socket_;
  UniqueFd wake_;  // eventfd: the listener was set, or this is being destroyed.
  std::mutex mutex_;
  Listener listener_;                // Guarded by mutex_, which is held while it is called.
  std::atomic<bool> joining_{true};  // Neither Joined nor Leave was called.
  std::atomic<bool> listening_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> aborted_{false};
  std::string packet_;  // Used by the thread.
  std::jthread thread_;
};

}  // namespace weir
