#pragma once

#include <QString>

namespace weir::monitor {

/// Whether two ids, of /run or a run log, tell that jobs are different ones. Empty: not known, and
/// so perhaps the same.
inline bool AreOfDifferentJobs(const QString& one, const QString& other) {
  return !one.isEmpty() && !other.isEmpty() && one != other;
}

}  // namespace weir::monitor
