#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/rank/stall_limits.h"
#include "weir/network_totals.h"
#include "weir/settings.h"

namespace weir {

/// Finds out that an exchange stands still which all ranks have agreed on: no message of this rank
/// has completed for too long, as where two hosts do not reach each other any more and everybody
/// lives. Warns, and at the limit on stalls ends the job. Network thread only.
class ExchangeWatch {
 public:
  ExchangeWatch(const Settings& settings, int rank);

  /// Notes whether anything is being exchanged, and what has completed so far. `awaited` returns
  /// the ranks from whom messages are missing. Returns the sentence the job ends with if the limit
  /// has passed.
  std::optional<std::string> Check(std::int64_t now_ns, bool exchanging,
                                   const NetworkTotals& totals,
                                   const std::function<std::vector<int>()>& awaited);

 private:
  const bool enabled_;
  const StallLimits limits_;
  const int rank_;
  NetworkTotals seen_;
  /// When something last moved, or nothing was being exchanged.
  std::optional<std::int64_t> moved_ns_;
  std::int64_t next_warning_ns_ = 0;
};

}  // namespace weir
