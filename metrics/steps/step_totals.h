#pragma once

#include "common/supervision/rank_totals.h"
#include "metrics/steps/step_summary.h"

namespace weir {

/// Adds a step to a rank's totals. Leaves totals that do not come from steps as they are
/// (sent_bytes, samples, lost_records, stalled).
void AddStep(const StepSummary& step, RankTotals& totals);

}  // namespace weir
