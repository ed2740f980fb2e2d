#include "coordinator/rank/clock_comparison.h"

#include "coordinator/work/operation_numbers.h"

namespace weir {

ClockComparison::ClockComparison(Transport& ranks)
    : ranks_(ranks), exchange_(ranks_, kClockOperation) {
  exchange_.Start();
  if (ranks.rank() == 0) Publish();
}

void ClockComparison::Publish() {
  if (known_) return;
  known_ = true;
  measured_.set_value(exchange_.job_clock());
}

std::optional<JobClock> ClockComparison::Await(std::chrono::milliseconds patience) const {
  if (clock_.wait_for(patience) != std::future_status::ready) return std::nullopt;
  return clock_.get();
}

}  // namespace weir
