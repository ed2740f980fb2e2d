#include "metrics/steps/step_totals.h"

#include <algorithm>

namespace weir {

void AddStep(const StepSummary& step, RankTotals& totals) {
  const std::int64_t duration_ns = std::max<std::int64_t>(0, step.end_ns - step.start_ns);
  totals.durations.Add(duration_ns);
  totals.duration_ns += duration_ns;
  totals.communication_ns += step.exposed.communication_ns;
  totals.compression_ns += step.exposed.compression_ns;
  totals.exchange_ns += step.exchange_ns;
  totals.payload_bytes += step.payload_bytes;
  totals.dense_bytes += step.dense_bytes;
}

}  // namespace weir
