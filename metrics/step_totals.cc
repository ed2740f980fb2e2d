#include "metrics/step_totals.h"

#include <algorithm>

namespace weir {

void StepTotals::Add(const StepSummary& step) {
  closed_.communication_ns += step.exposed.communication_ns;
  closed_.compression_ns += step.exposed.compression_ns;
  closed_.exchange_ns += step.exchange_ns;
  closed_.payload_bytes += step.payload_bytes;
  closed_.dense_bytes += step.dense_bytes;
  if (open_ && open_->step == step.step) {
    open_->start_ns = std::min(open_->start_ns, step.start_ns);
    open_->end_ns = std::max(open_->end_ns, step.end_ns);
    return;
  }
  const bool follows = open_ && step.step == open_->step + 1;
  const std::int64_t start_ns = follows ? open_->end_ns : step.start_ns;
  if (open_) Close(*open_, closed_);
  open_ = {.step = step.step, .start_ns = start_ns, .end_ns = step.end_ns};
}

RankTotals StepTotals::totals() const {
  RankTotals totals = closed_;
  if (open_) Close(*open_, totals);
  return totals;
}

void StepTotals::Close(const Open& step, RankTotals& totals) {
  const std::int64_t duration_ns = std::max<std::int64_t>(0, step.end_ns - step.start_ns);
  totals.durations.Add(duration_ns);
  totals.duration_ns += duration_ns;
}

}  // namespace weir
