#pragma once

#include "common/rank_totals.h"
#include "metrics/step_summary.h"

namespace weir {

/// Adds a step to what a rank's steps have taken. What does not come from steps (sent_bytes,
/// samples, lost_records, stalled) stays as it is.
void AddStep(const StepSummary& step, RankTotals& totals);

}  // namespace weir
