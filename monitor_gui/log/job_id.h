#pragma once

#include <QString>

namespace weir::monitor {

/// True if two ids, of /run or a run log, show that jobs differ. An empty id is
/// unknown, and so perhaps the same.
inline bool AreOfDifferentJobs(const QString& one, const QString& other) {
  return !one.isEmpty() && !other.isEmpty() && one != other;
}

}  // namespace weir::monitor
