#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/rank/stall_limits.h"
#include "ops/membership/membership.h"
#include "weir/network_totals.h"
#include "weir/settings.h"

namespace weir {

/// Finds out that an exchange stands still which all ranks have agreed on: no message of this rank
/// has completed for too long, as where two hosts do not reach each other any more and everybody
/// lives. Warns, tells weirrun whom this rank waits for, which can then see where the network is
/// cut, and at the limit on stalls ends the job. Network thread only.
class ExchangeWatch {
 public:
  /// Works without `membership` (null) too.
  ExchangeWatch(const Settings& settings, int rank, Membership* membership);

  /// What the network is in. A round waits for whoever has nothing to exchange yet, an exchange for
  /// nobody; but a rank that the end of a round does not reach is still in it, and knows from whom
  /// it should have come.
  enum class Work { kNone, kRound, kExchange };

  /// Notes what is under way, and what has completed so far. `awaited` returns the ranks from whom
  /// messages are missing. Returns the sentence the job ends with if the limit has passed.
  std::optional<std::string> Check(std::int64_t now_ns, Work work, const NetworkTotals& totals,
                                   const std::function<std::vector<int>()>& awaited);

 private:
  void Tell(const std::vector<int>& awaited, Work work);

  const bool enabled_;
  const StallLimits limits_;
  const int rank_;
  Membership* const membership_;
  std::vector<int> told_;
  NetworkTotals seen_;
  /// When something last moved, or nothing was under way.
  std::optional<std::int64_t> moved_ns_;
  std::int64_t next_warning_ns_ = 0;
};

}  // namespace weir
