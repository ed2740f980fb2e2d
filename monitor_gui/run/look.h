#pragma once

#include "monitor_gui/run/moment.h"

namespace weir::monitor {

/// What pages show: a run, as it was at a moment.
struct Look {
  const Run& run;
  Moment at{};
};

}  // namespace weir::monitor
