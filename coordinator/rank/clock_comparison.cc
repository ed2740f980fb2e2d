#include "coordinator/rank/clock_comparison.h"

#include "coordinator/work/operation_numbers.h"

namespace weir {

ClockComparison::ClockComparison(Transport& ranks) : exchange_(ranks, kClockOperation) {
  exchange_.Start();
  if (ranks.rank() != 0) return;
  measured_.set_value(exchange_.job_clock());
  known_ = true;
}

bool ClockComparison::Poll() {
  if (done() || !exchange_.Poll()) return false;
  if (!known_) measured_.set_value(exchange_.job_clock());
  known_ = true;
  return true;
}

std::optional<JobClock> ClockComparison::Await(std::chrono::milliseconds patience) const {
  if (clock_.wait_for(patience) != std::future_status::ready) return std::nullopt;
  return clock_.get();
}

}  // namespace weir
