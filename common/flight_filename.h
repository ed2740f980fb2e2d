#pragma once

#include <string_view>

namespace weir {

/// Whether ranks whose Settings::flight_filename this is keep flight recordings.
inline bool KeepsFlightRecordings(std::string_view filename) {
  return !filename.empty() && filename != "none";
}

}  // namespace weir
