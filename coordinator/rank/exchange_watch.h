#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/rank/reach_probe.h"
#include "coordinator/rank/stall_limits.h"
#include "ops/membership/membership.h"
#include "weir/network_totals.h"
#include "weir/settings.h"

namespace weir {

/// Finds out that an exchange stands still which all ranks have agreed on: no message of this rank
/// has completed for too long, as where two hosts do not reach each other any more and everybody
/// lives. Warns, and at the limit on stalls ends the job. From half of the limit on it asks the
/// others whether they are heard, and at three quarters tells weirrun who is not, which can then
/// see where the network is cut. Network thread only.
class ExchangeWatch {
 public:
  /// What the network is in. A round waits for whoever has nothing to exchange yet, an exchange for
  /// nobody; but a rank that the end of a round does not reach is still in it.
  enum class Work { kNone, kRound, kExchange };

  /// `ranks` is asked where weirrun would listen; null: nobody is asked.
  ExchangeWatch(const Settings& settings, int rank, Membership* membership, Transport* ranks);

  /// Notes what is under way, and what has completed so far. `awaited` returns the ranks from whom
  /// messages are missing. Returns the sentence the job ends with if the limit has passed. Throws
  /// what Transport::Test throws.
  std::optional<std::string> Check(std::int64_t now_ns, Work work, NetworkTotals totals,
                                   const std::function<std::vector<int>()>& awaited);
  /// Takes back its messages, at the network's end.
  void Cancel();

 private:
  void Ask(std::int64_t age_ns);
  void StopAsking();

  const bool enabled_;
  const StallLimits limits_;
  const int rank_;
  Membership* const membership_;
  std::unique_ptr<ReachProbe> probe_;
  bool told_ = false;
  NetworkTotals seen_;
  /// When something last moved, or nothing was under way.
  std::optional<std::int64_t> moved_ns_;
  std::int64_t next_warning_ns_ = 0;
};

}  // namespace weir
