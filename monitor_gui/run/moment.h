#pragma once

#include <cstdint>
#include <limits>

#include "monitor_gui/run/run.h"

namespace weir::monitor {

/// The step at which a run is looked at.
struct Moment {
  static constexpr std::int64_t kNewest = std::numeric_limits<std::int64_t>::max();

  std::int64_t step = kNewest;    ///< -1: the run knows none so early.
  std::int64_t end_ns = kNewest;  ///< When the last of the ranks had finished it.

  bool is_newest() const { return step == kNewest; }
};

/// The newest step of the run that is not after this one.
Moment MomentOf(const Run& run, std::int64_t step);

/// The steps of a run, as its rank that knows most of them has them.
struct StepSpan {
  std::int64_t first = 0;
  std::int64_t last = -1;

  bool is_empty() const { return last < first; }
};
StepSpan StepsOf(const Run& run);

/// So many steps that the run knows before (negative) or behind one of them, or its first or last.
std::int64_t StepFrom(const Run& run, std::int64_t step, std::int64_t by);
/// The last step that was finished by then, or the first one.
std::int64_t StepAt(const Run& run, std::int64_t time_ns);

}  // namespace weir::monitor
