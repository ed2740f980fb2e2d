#pragma once

#include <cstdint>
#include <limits>

#include "monitor_gui/run/run.h"

namespace weir::monitor {

/// The step at which a run is viewed.
struct Moment {
  static constexpr std::int64_t kNewest = std::numeric_limits<std::int64_t>::max();

  std::int64_t step = kNewest;    ///< -1: the run has no step that early.
  std::int64_t end_ns = kNewest;  ///< Time when the last rank had finished it.

  bool is_newest() const { return step == kNewest; }
};

/// Returns the newest step of the run that is not after this one.
Moment MomentOf(const Run& run, std::int64_t step);

/// The steps of a run, by the rank that knows most of them.
struct StepSpan {
  std::int64_t first = 0;
  std::int64_t last = -1;

  bool is_empty() const { return last < first; }
};
StepSpan StepsOf(const Run& run);

/// Returns the step so many known steps before (negative) or after one, or the first or last.
std::int64_t StepFrom(const Run& run, std::int64_t step, std::int64_t by);
/// Returns the last step that was finished by then, or the first one.
std::int64_t StepAt(const Run& run, std::int64_t time_ns);

}  // namespace weir::monitor
