#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ops/membership/membership.h"

namespace weir::local {

/// The memberships of a job whose ranks are threads of one process, and functions that break them
/// in tests. Outlives its members. Thread-safe; listeners are called from the hub's thread, one at
/// a time, and must not call Listen.
class MembershipHub {
 public:
  explicit MembershipHub(int ranks);
  ~MembershipHub();

  /// Returns the membership of one rank; may be made again once the previous one is destroyed.
  std::unique_ptr<Membership> Member(int rank);

  /// Lets `rank` die: all others learn of it, and its later messages reach nobody. A
  /// rank that has left dies unnoticed.
  void Kill(int rank, const std::string& how = "signal 9 (Killed)");
  /// Lets the launcher die: everybody learns of it.
  void LoseLauncher();

 private:
  class HubMember;
  struct Rank {
    Membership::Listener listener;
    std::deque<MembershipEvent> waiting;
    bool alive = true;
    bool left = false;
  };

  void Run();
  void SetListener(int rank, Membership::Listener listener);
  void Post(int to, MembershipEvent event);                   // With mutex_ held.
  void PostToOthers(int from, const MembershipEvent& event);  // With mutex_ held.

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Rank> ranks_;  // Guarded by mutex_.
  int calling_ = -1;         // The rank whose listener runs now; guarded by mutex_.
  bool stopping_ = false;    // Guarded by mutex_.
  std::jthread thread_;
};

}  // namespace weir::local
