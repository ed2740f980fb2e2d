#pragma once

#include <QString>
#include <vector>

#include "monitor_gui/run/moment.h"

namespace weir::monitor {

/// A run as it was at a moment, and its label beside another one.
struct Side {
  const Run& run;
  Moment at{};
  QString label{};  ///< "A" or "B"; empty: it is alone.
  bool is_other = false;

  /// End of the visible part.
  std::int64_t end_ns() const { return at.is_newest() ? run.newest_ns() : at.end_ns; }
};

/// The subject of pages: a run at a moment, and perhaps another one to compare with.
struct Look {
  const Run& run;
  Moment at{};
  const Run* other = nullptr;
  Moment other_at{};

  std::vector<Side> sides() const {
    std::vector<Side> sides{{.run = run, .at = at, .label = other == nullptr ? "" : "A"}};
    if (other != nullptr) {
      sides.push_back({.run = *other, .at = other_at, .label = "B", .is_other = true});
    }
    return sides;
  }
};

}  // namespace weir::monitor
