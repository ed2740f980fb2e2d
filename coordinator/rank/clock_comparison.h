#pragma once

#include <chrono>
#include <future>
#include <optional>

#include "common/clock.h"
#include "ops/exchanges/clock_exchange.h"
#include "ops/transport/transport.h"
#include "ops/transport/urgent_transport.h"

namespace weir {

/// The job's clock, as a rank comes to know it at the start: rank 0 at once, the others once theirs
/// has been compared with rank 0's. Network thread only, but for Await.
class ClockComparison {
 public:
  /// Begins to compare. All ranks take part.
  explicit ClockComparison(Transport& ranks);

  /// Makes progress. True once this rank has nothing left to do: until then rank 0 answers the
  /// others. Throws as ClockExchange::Poll does.
  bool Poll() { return exchange_.Poll(); }
  bool done() const { return exchange_.done(); }
  /// Ends the waits in Await. To be called when it is done.
  void Publish();
  void Cancel() { exchange_.Cancel(); }

  /// Waits until the clock is known here, but not longer than `patience`. Empty: it is not known in
  /// time. Thread-safe.
  std::optional<JobClock> Await(std::chrono::milliseconds patience) const;

 private:
  UrgentTransport ranks_;
  ClockExchange exchange_;
  bool known_ = false;
  std::promise<JobClock> measured_;
  const std::shared_future<JobClock> clock_ = measured_.get_future().share();
};

}  // namespace weir
