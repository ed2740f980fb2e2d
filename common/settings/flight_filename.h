#pragma once

#include <string_view>

namespace weir {

/// Returns true if ranks with this Settings::flight_filename keep flight recordings.
inline bool KeepsFlightRecordings(std::string_view filename) {
  return !filename.empty() && filename != "none";
}

}  // namespace weir
