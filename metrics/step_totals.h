#pragma once

#include <cstdint>
#include <optional>

#include "common/rank_totals.h"
#include "metrics/step_summary.h"

namespace weir {

/// Adds up a rank's steps. Groups of gradients that take the same step (one of each data type, say)
/// take it together: from the end of the one before to the last of their ends. Not thread-safe.
class StepTotals {
 public:
  void Add(const StepSummary& step);
  /// Of all steps so far. What does not come from steps (sent_bytes, lost_records, stalled) is not
  /// set.
  RankTotals totals() const;

 private:
  struct Open {
    std::int64_t step = -1;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
  };
  static void Close(const Open& step, RankTotals& totals);

  RankTotals closed_;         ///< Durations without that of the open step.
  std::optional<Open> open_;  ///< Another group may take it, too.
};

}  // namespace weir
